// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observer.h"
#include "core/result.h"
#include "documents/tick.h"
#include "session/live_view.h"
#include "session/trace_options.h"
#include "terminal/printer.h"
#include "terminal/screen.h"

namespace rsslag::session {

/// Observes a trace, and writes ticks, single records and the summary in the requested format. Functions return
/// Kind::Io if stdout cannot be written, except if its reader has closed it (unread()).
class TickWriter : public analysis::TraceObserver {
  public:
    /// `events`: a live trace that it observes must pass single records, too; not on a screen. Their lines have labels
    /// instead of columns. So the names of the columns are repeated before the next tick.
    TickWriter(Format format, const core::ThreadChoice &threads, documents::TextStyle style, bool events = false)
        : format_(format),
          threads_(threads.which != core::ThreadChoice::Which::None),
          events_(events),
          style_(std::move(style)) {}

    bool on_screen() const { return format_ == Format::Screen; }
    Format format() const { return format_; }
    const documents::TextStyle &style() const { return style_; }
    /// Whether nothing is written to stdout.
    bool quiet() const { return format_ == Format::Progress || format_ == Format::Silent; }

    /// Starts a thread that writes from now on, so that no call waits for the reader. No effect with a screen.
    void begin_queue();
    /// Writes the header or opens the screen.
    core::Status head(screen::ScreenFacts facts);
    bool needs_records() const override { return events_; }
    bool needs_updates() const override { return true; }
    void on_update(const core::EventLine &line) override;
    void on_task(const core::TaskLine &line) override;
    void on_tick(core::Tick tick) override;
    /// The number of ticks received.
    std::uint64_t ticks() const { return reported_; }
    /// Writes what was received since the last call. The screen shows it without this call.
    core::Status flush();
    /// Writes the lines since the last tick, then the summary.
    core::Status summary(core::Summary summary);
    /// The summary that was written; nullopt: not written yet.
    const std::optional<core::Summary> &summary() const { return summary_; }
    /// Writes a line about the recording to stderr.
    void progress(const std::string &line);
    /// Waits until all is written; after `stopped` returns true, at most as long as terminal::Printer::finish() does.
    core::Status finish(const std::function<bool()> &stopped);

    /// Whether the reader of stdout has closed it. Also polls stdout, since there may be no text to write for a long
    /// time.
    bool unread();

    /// Restores the terminal's normal screen.
    void leave_screen() { screen_.reset(); }
    /// The screen; null if there is none.
    terminal::Screen *screen() { return screen_ ? &*screen_ : nullptr; }

  private:
    void put_shared(const core::Tick &tick);
    core::Status print(const std::string &text, bool last = false);
    core::Status unless_unread(core::Status printed);
    std::uint64_t dropped() const { return printer_ ? printer_->dropped() : 0; }

    Format format_;
    bool threads_;
    bool events_;
    documents::TextStyle style_;
    std::optional<terminal::Screen> screen_;
    TickNames names_;  ///< only for the screen
    std::optional<terminal::Printer> printer_;
    std::string waiting_;                             ///< lines since the last write
    std::string below_;                               ///< lines below these
    std::map<std::string, std::vector<int>> shared_;  ///< PIDs that share an mm, by mm id, as last printed
    std::optional<core::Summary> summary_;
    std::uint64_t reported_ = 0;  ///< number of ticks
    bool named_ = false;          ///< the lines written last are rows below the names of their columns
    bool unread_ = false;
};

}  // namespace rsslag::session
