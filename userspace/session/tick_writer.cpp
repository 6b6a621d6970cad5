// SPDX-License-Identifier: BSD-2-Clause
#include "session/tick_writer.h"

#include <poll.h>
#include <unistd.h>

#include <tuple>
#include <utility>

#include "session/live_view.h"
#include "terminal/output.h"

namespace rsslag::session {

using core::Status;

void TickWriter::begin_queue() {
    if (format_ == Format::Screen) return;
    terminal::Printer::Options options;
    if (format_ == Format::Jsonl) options.gap = documents::gap_json;
    if (format_ == Format::Lines)
        options.gap = [style = style_](std::uint64_t n) { return documents::gap_text(n, style); };
    printer_.emplace(quiet() ? STDERR_FILENO : STDOUT_FILENO, std::move(options));
}

Status TickWriter::head(screen::ScreenFacts facts) {
    switch (format_) {
        case Format::Screen: break;
        case Format::Csv: return print(documents::csv_header());
        case Format::Lines: named_ = !events_; return named_ ? print(documents::line_header(style_)) : core::success();
        case Format::Jsonl:
        case Format::Progress:
        case Format::Silent: return core::success();
    }
    auto screen = terminal::Screen::open(style_);
    if (!screen) return screen.error();
    screen_.emplace(std::move(*screen));
    screen_->post(
        [facts = std::move(facts), style = style_](terminal::Shown &shown) { shown.live.emplace(facts, style); });
    return core::success();
}

Status TickWriter::flush() {
    if (screen_) return core::success();
    waiting_ += std::exchange(below_, {});
    return print(std::exchange(waiting_, {}));
}

/// Prints nothing once the reader has closed stdout.
Status TickWriter::print(const std::string &text, bool last) {
    if (unread_ || quiet()) return core::success();
    if (!printer_) return unless_unread(terminal::print(text));
    return unless_unread(last ? printer_->put_last(text) : printer_->put(text));
}

Status TickWriter::unless_unread(Status printed) {
    if (printed || !terminal::reader_closed(printed.error())) return printed;
    unread_ = true;
    return core::success();
}

/// A failure to write to stderr cannot be reported.
void TickWriter::progress(const std::string &line) {
    std::ignore = printer_ ? printer_->put(line) : terminal::print(line, STDERR_FILENO);
}

Status TickWriter::finish(const std::function<bool()> &stopped) {
    if (!printer_) return core::success();
    if (quiet()) return std::ignore = printer_->finish([] { return true; }), core::success();
    Status written = printer_->finish(stopped);
    // The other formats have marked the gap in their output (Printer::Options::gap).
    if (format_ == Format::Csv && dropped() > 0) terminal::print_error(documents::dropped_text(dropped()));
    return unless_unread(std::move(written));
}

bool TickWriter::unread() {
    if (format_ == Format::Screen || quiet()) return false;
    pollfd out{STDOUT_FILENO, 0, 0};
    unread_ = unread_ || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0);
    return unread_;
}

/// Adds a line below the rows of processes that share an mm, once, and again when the set of processes changes. If
/// the trace passes records, it comes directly after the first of these rows, as lines of later records may follow.
void TickWriter::put_shared(const core::Tick &tick) {
    if (format_ != Format::Lines || !tick.read) return;
    const core::ProcessReading &process = tick.process;
    if (tick.state != core::State::Running || process.mm_pids.size() < 2) {
        shared_.erase(process.mm_id);
        return;
    }
    std::vector<int> &printed = shared_[process.mm_id];
    if (std::exchange(printed, process.mm_pids) == process.mm_pids) return;
    (events_ ? waiting_ : below_) += documents::shared_line(process.mm_pids);
}

void TickWriter::on_tick(core::Tick tick) {
    reported_++;
    if (screen_) return post_tick(*screen_, std::move(tick), names_);
    switch (format_) {
        case Format::Jsonl: waiting_ += documents::tick_json(tick); break;
        case Format::Csv: waiting_ += documents::tick_csv(tick, dropped()); break;
        case Format::Screen:
        case Format::Lines:
            if (!std::exchange(named_, true)) waiting_ += documents::line_header(style_);
            waiting_ += documents::tick_lines(tick, style_, threads_);
            break;
        case Format::Progress:
        case Format::Silent: break;
    }
    put_shared(tick);
}

void TickWriter::on_update(const core::EventLine &line) {
    if (format_ == Format::Csv) return;
    named_ = false;
    waiting_ += format_ == Format::Jsonl ? documents::event_json(line) : documents::event_text(line, style_);
}

void TickWriter::on_task(const core::TaskLine &line) {
    if (format_ == Format::Csv) return;
    named_ = false;
    waiting_ += format_ == Format::Jsonl ? documents::task_json(line) : documents::task_text(line, style_);
}

Status TickWriter::summary(core::Summary summary) {
    summary_ = summary;
    if (Status rest = flush(); !rest) return rest;
    if (format_ == Format::Csv || quiet()) return core::success();
    summary.ticks = reported_;
    summary.lines_dropped = dropped();
    return print(format_ == Format::Jsonl ? documents::summary_json(summary) : documents::summary_text(summary, style_),
                 true);
}

}  // namespace rsslag::session
