// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/session/tick_writer.h"

#include <poll.h>
#include <unistd.h>

#include "rsslag/session/live_view.h"
#include "rsslag/terminal/output.h"

namespace rsslag::session {

using core::Status;

Status TickWriter::head(view::ScreenFacts facts) {
    switch (format_) {
        case Format::Screen: break;
        case Format::Csv: return say(view::csv_header());
        case Format::Lines: return say(view::line_header(style_));
        case Format::Jsonl:
        case Format::Progress: return core::success();
    }
    auto screen = terminal::Screen::open(style_.color);
    if (!screen) return screen.error();
    screen_.emplace(std::move(*screen));
    screen_->post(
        [facts = std::move(facts), style = style_](terminal::Shown &shown) { shown.live.emplace(facts, style); });
    return core::success();
}

Status TickWriter::ticks(std::vector<core::Tick> ticks) {
    if (screen_) {
        reported_ += ticks.size();
        return post_ticks(*screen_, std::move(ticks)), core::success();
    }
    for (const core::Tick &each : ticks)
        put(each);
    return say(std::exchange(waiting_, {}));
}

/// Once nobody reads it, nothing more is said.
Status TickWriter::say(const std::string &text) {
    if (unread_ || text.empty()) return core::success();
    Status printed = terminal::print(text);
    if (printed || !terminal::is_unread(printed.error())) return printed;
    unread_ = true;
    return core::success();
}

bool TickWriter::unread() {
    if (format_ == Format::Screen || format_ == Format::Progress) return false;
    pollfd out{STDOUT_FILENO, 0, 0};
    unread_ = unread_ || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0);
    return unread_;
}

void TickWriter::on_tick(core::Tick tick) {
    put(tick);
}

void TickWriter::put(const core::Tick &tick) {
    reported_++;
    switch (format_) {
        case Format::Jsonl: waiting_ += view::tick_json(tick); break;
        case Format::Csv: waiting_ += view::tick_csv(tick); break;
        case Format::Screen:
        case Format::Lines: waiting_ += view::tick_lines(tick, style_, threads_); break;
        case Format::Progress: break;
    }
}

void TickWriter::on_update(const core::EventLine &line) {
    if (format_ == Format::Csv) return;
    waiting_ += format_ == Format::Jsonl ? view::event_json(line) : view::event_text(line, style_);
}

void TickWriter::on_task(const core::TaskLine &line) {
    if (format_ == Format::Csv) return;
    waiting_ += format_ == Format::Jsonl ? view::task_json(line) : view::task_text(line, style_);
}

Status TickWriter::summary(core::Summary summary) {
    if (Status rest = ticks({}); !rest) return rest;
    if (format_ == Format::Csv || format_ == Format::Progress) return core::success();
    summary.ticks = reported_;
    return say(format_ == Format::Jsonl ? view::summary_json(summary) : view::summary_text(summary, style_));
}

}  // namespace rsslag::session
