// SPDX-License-Identifier: BSD-2-Clause
#include "session/top_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "procfs/process.h"

namespace rsslag::session {

using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Status TopSession::open() {
    auto all = system::AllProcesses::open({.capabilities = {}, .stop_waiting = [this] { return is_over(); }});
    if (!all) return all.error();
    all_.emplace(std::move(*all));
    return core::success();
}

core::Result<documents::TopTable> TopSession::read(bool ids) {
    auto pass = all_->read();
    if (!pass) return pass.error();
    documents::TopTable table;
    table.time = pass->facts.time;
    table.kernel = pass->facts.kernel;
    table.arch = pass->facts.arch;
    table.machine = pass->facts.machine;
    table.calibration = pass->facts.calibration;
    table.pass_us = pass->took.count();
    table.own = meter_.since_last(0, 0);
    table.processes.reserve(pass->processes.size());
    for (core::ProcessTotal &process : pass->processes) {
        std::string id = ids ? all_->snapshotter().mm_id(process.mm) : std::string();
        table.processes.push_back({std::move(process), std::move(id), {}});
    }
    return table;
}

Status TopSession::show(const documents::TextStyle &style, documents::TopSort sort) {
    terminal::Screen::block_signals();
    auto screen = terminal::Screen::open(style);
    if (!screen) {
        core::Error error = screen.error();
        error.remedy = "use --once";
        return error;
    }
    screen_.emplace(std::move(*screen));
    ticks_.emplace(*screen_);
    style_ = style;
    screen_->post(
        [interval = interval_, style, sort](terminal::Shown &shown) { shown.top.emplace(interval, style, sort); });
    Status ran = run();
    close_live();
    screen_.reset();
    return ran;
}

/// Runs until rsslag ends.
Status TopSession::run() {
    constexpr milliseconds kKeys{50};  // interval between reads of the screen's intents
    auto next = Clock::now();
    for (;;) {
        if (Clock::now() >= next) {
            if (Status done = end_of_interval(); !done) return done;
            next = std::max(next + interval_, Clock::now());
        }
        const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
        if (stop_.wait(std::clamp(left, milliseconds{0}, kKeys))) return core::success();
        if (tracer_) tracer_->collect();
        for (const screen::Intent &intent : screen_->intents()) {
            if (std::holds_alternative<screen::Quit>(intent)) return core::success();
            if (const auto *const interval = std::get_if<screen::SetInterval>(&intent)) {
                interval_ = interval->interval;
                next = std::min(next, Clock::now() + interval_);
            }
            if (apply(intent)) next = Clock::now();
        }
    }
}

/// Shows the next table, or the next ticks of the live screen.
Status TopSession::end_of_interval() {
    if (tracer_) {
        tracer_->tick();
        return core::success();
    }
    auto table = read(false);
    if (!table) return table.error();
    names_.fill(table->processes);
    auto shared = std::make_shared<documents::TopTable>(std::move(*table));
    screen_->post([shared](terminal::Shown &shown) { shown.top->take(std::move(*shared)); });
    return core::success();
}

/// Returns whether the next table or tick is due now.
bool TopSession::apply(const screen::Intent &intent) {
    const auto *const open = std::get_if<screen::OpenLive>(&intent);
    const auto *const walk = std::get_if<screen::WalkNow>(&intent);
    if (tracer_) {
        if (walk != nullptr) tracer_->walk_now(walk->pid);
        const bool back = std::holds_alternative<screen::Back>(intent);
        if (back) close_live();
        return back || walk != nullptr;
    }
    if (walk != nullptr) walk_now(walk->pid);
    if (open != nullptr) open_live(open->pid);
    return open != nullptr;
}

/// Walks a process of the table once.
void TopSession::walk_now(pid_t pid) {
    const auto process = procfs::Process::open(pid);
    auto reading =
        process ? all_->snapshotter().take(*process, true) : core::Result<core::ProcessReading>(process.error());
    if (!reading) return post_notice(*screen_, reading.error().what);
    auto shared = std::make_shared<core::ProcessReading>(std::move(*reading));
    screen_->post([shared](terminal::Shown &shown) { shown.top->take(*shared); });
}

void TopSession::open_live(pid_t pid) {
    tracer::Tracer::Options chosen;
    chosen.for_screen = true;
    chosen.dropped = true;  // by open(); the screen's thread exists by now
    chosen.stop_waiting = [this] { return is_over(); };
    chosen.observer = &*ticks_;
    auto tracer = tracer::Tracer::open(chosen);
    const Status attached = tracer ? tracer->attach(pid) : Status(tracer.error());
    if (!attached) return post_notice(*screen_, fmt::format("cannot trace {}: {}", pid, attached.error().what));
    const screen::ScreenFacts facts = screen_facts(tracer->facts(), interval_, true, true);
    screen_->post([facts, style = style_](terminal::Shown &shown) { shown.live.emplace(facts, style); });
    tracer_.emplace(std::move(*tracer));
}

void TopSession::close_live() {
    if (!tracer_) return;
    screen_->post([](terminal::Shown &shown) { shown.live.reset(); });
    tracer_.reset();
}

}  // namespace rsslag::session
