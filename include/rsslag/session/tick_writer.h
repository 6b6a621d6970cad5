// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/session/trace_options.h"
#include "rsslag/terminal/printer.h"
#include "rsslag/terminal/screen.h"
#include "rsslag/trace/observer.h"
#include "rsslag/view/tick.h"

namespace rsslag::session {

/// Writes what happens in the format that was asked for. As an observer it writes single records, too, in order with
/// ticks; not for a screen.
class TickWriter : public trace::TraceObserver {
  public:
    TickWriter(Format format, const core::ThreadChoice &threads, view::TextStyle style)
        : format_(format), threads_(threads.which != core::ThreadChoice::Which::None), style_(std::move(style)) {}

    bool on_screen() const { return format_ == Format::Screen; }
    Format format() const { return format_; }
    const view::TextStyle &style() const { return style_; }
    /// Nothing of it goes to stdout.
    bool quiet() const { return format_ == Format::Progress || format_ == Format::Silent; }

    /// From now on whoever reads is not waited for; a thread begins. Not for a screen.
    void begin_queue();
    core::Status head(view::ScreenFacts facts);
    core::Status ticks(std::vector<core::Tick> ticks);
    /// Written with the next ticks().
    bool needs_updates() const override { return true; }
    void on_update(const core::EventLine &line) override;
    void on_task(const core::TaskLine &line) override;
    void on_tick(core::Tick tick) override;
    /// What came since the last tick, then the whole trace.
    core::Status summary(core::Summary summary);
    /// What it was.
    const std::optional<core::Summary> &summary() const { return summary_; }
    /// Of a recording, on stderr.
    void progress(const std::string &line);
    /// Waits until all of it is written, once `stopped` not for long.
    core::Status finish(const std::function<bool()> &stopped);

    /// Whether whoever read stdout has closed it; asked of the kernel too, as there may be nothing to write for long.
    bool unread();

    /// The terminal is given back: what comes now is for its normal screen.
    void leave_screen() { screen_.reset(); }
    /// The screen while there is one, else null.
    terminal::Screen *screen() { return screen_ ? &*screen_ : nullptr; }

  private:
    void put(const core::Tick &tick);
    void put_shared(const core::Tick &tick);
    core::Status say(const std::string &text, bool last = false);
    core::Status unless_unread(core::Status printed);
    std::uint64_t dropped() const { return printer_ ? printer_->dropped() : 0; }

    Format format_;
    bool threads_;
    view::TextStyle style_;
    std::optional<terminal::Screen> screen_;
    std::optional<terminal::Printer> printer_;
    std::string waiting_;                             ///< lines since the last write
    std::map<std::string, std::vector<int>> shared_;  ///< who shares which mm, as it was said last
    std::optional<core::Summary> summary_;
    std::uint64_t reported_ = 0;  ///< ticks
    bool unread_ = false;
};

}  // namespace rsslag::session
