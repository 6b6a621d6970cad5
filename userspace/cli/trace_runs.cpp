// SPDX-License-Identifier: BSD-2-Clause
// Traces of running processes, and of a command.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "exit_status.h"
#include "proc_runs.h"
#include "session/session.h"
#include "system/command.h"
#include "terminal/command_terminal.h"
#include "terminal/output.h"
#include "terminal/style.h"
#include "trace_options.h"
#include "trace_runs.h"
#include "version.h"

namespace rsslag::cli {
namespace {

using core::Kind;
using core::Status;
using std::chrono::milliseconds;

int finish(session::Session &session, const Status &ran, int status) {
    session.leave_screen();
    if (!ran) return fail(ran.error());
    const Status written = session.summary();
    if (!written) return fail(written.error());
    return session.recording_failed() ? kDoesNotHold : status;
}

/// CMD while the screen is shown: passes its output to the screen and what is typed to CMD, and keeps its status.
class CommandView {
  public:
    CommandView(system::Command &command, terminal::CommandTerminal &terminal, system::StopSignals &stop,
                std::string name)
        : command_(command), terminal_(terminal), stop_(stop), name_(std::move(name)) {}

    void look(terminal::Screen *screen) {
        if (stop_.interrupted()) terminal_.type("\x03");
        const bool ended = !status_ && (status_ = command_.wait(milliseconds{}, stop_));
        if (screen == nullptr) return;
        if (!reported_) screen->on_typed([this](const std::string &bytes) { return terminal_.type(bytes); });
        auto taken = terminal_.take_output();
        if (taken) last_ = std::move(*taken);
        if (!taken && !ended && reported_) return;
        reported_ = true;
        last_.name = name_;
        last_.running = !status_;
        last_.status = status_;
        screen->post([output = last_](terminal::Shown &shown) {
            if (shown.live) shown.live->take(output);
        });
    }
    std::optional<int> status() const { return status_; }

  private:
    system::Command &command_;
    terminal::CommandTerminal &terminal_;
    system::StopSignals &stop_;
    std::string name_;
    screen::CommandOutput last_;
    std::optional<int> status_;
    bool reported_ = false;
};

/// Hangs up CMD's terminal and returns its status. Waits at most kPatience for a CMD that still runs.
int end_of(system::Command &command, terminal::CommandTerminal &terminal, system::StopSignals &stop,
           std::optional<int> status) {
    constexpr milliseconds kPatience{2000};
    terminal.hang_up();
    if (!status) status = command.wait(kPatience, stop);
    if (const std::string kept = terminal.kept(); !kept.empty()) terminal::print_error(kept);
    return status.value_or(kDone);
}

/// Gives CMD its own terminal if the screen is shown.
Status lend_terminal(const session::TraceOptions &options, const session::TickWriter &writer,
                     std::optional<terminal::CommandTerminal> &terminal) {
    if (!writer.on_screen()) return core::success();
    auto opened = terminal::CommandTerminal::open();
    if (!opened) return opened.error();
    terminal.emplace(std::move(*opened));
    if (options.as_root) return core::success();
    const auto user = system::invoking_user();
    if (user && *user) terminal->give_file_to((*user)->uid, (*user)->gid);
    return core::success();
}

}  // namespace

int trace_targets(const session::TraceOptions &options, session::TickWriter &writer) {
    if (options.targets.empty()) {
        return fail({Kind::BadInput, "no target given", 0, "use a PID, -p, --comm, --cgroup, -u, or -- CMD"});
    }
    auto targets = system::resolve(options.targets);
    const bool none = !targets && targets.error().kind == Kind::Gone && options.targets.has_pattern();
    if (!targets && (!none || options.no_wait)) return fail(targets.error());
    system::StopSignals stop;
    if (writer.on_screen()) terminal::Screen::block_signals();
    std::optional<session::Session> session(std::in_place, options, writer, stop);
    if (const Status made = session->prepare_recording({}); !made) return fail(made.error());
    if (const Status opened = session->open(); !opened) {
        if (!can_sample(options, opened.error())) return fail(opened.error());
        const std::vector<system::Target> found = none ? std::vector<system::Target>() : std::move(*targets);
        return sample_targets(found, options, writer.style(), stop, opened.error(), false);
    }
    if (const Status matching = session->attach_matching(); !matching) return fail(matching.error());
    if (none && !writer.on_screen()) terminal::print_error(session::kWaitsForFirst);
    if (!none) {
        if (const Status attached = session->attach(*targets); !attached) {
            // Some kernels do not show their first process to BPF.
            if (targets->size() > 1 || !can_sample(options, attached.error())) return fail(attached.error());
            session.reset();
            core::Error why = attached.error();
            why.remedy.clear();  // is to read /proc
            return sample_targets(*targets, options, writer.style(), stop, why, true);
        }
    }
    if (const Status begun = session->head(none); !begun) return fail(begun.error());
    return finish(*session, session->run(), kDone);
}

int trace_command(const std::vector<std::string> &argv, const session::TraceOptions &options,
                  session::TickWriter &writer, CommandEnd *end) {
    if (!options.targets.empty()) return fail({Kind::BadInput, "targets and -- CMD cannot be combined", 0, "use one"});
    std::optional<terminal::CommandTerminal> terminal;
    if (const Status lent = lend_terminal(options, writer, terminal); !lent) return fail(lent.error()), kCommandFailed;
    auto command = system::Command::prepare(argv, options.as_root, terminal ? terminal->command_side() : -1);
    if (!command) return fail(command.error()), kCommandFailed;
    system::StopSignals stop(2);  // the first INT is for the command
    if (terminal) terminal::Screen::block_signals();
    session::Session session(options, writer, stop);
    session.continue_without_reader();
    Status ready = session.prepare_recording(argv);
    if (!ready) return fail(ready.error()), ready.error().kind == Kind::BadInput ? kBadInput : kCommandFailed;
    ready = session.open();
    if (!ready && end == nullptr && can_sample(options, ready.error())) {
        // The prepared command may have its own terminal: it is dropped, and sample_command() prepares another.
        return sample_command(argv, options, writer.style(), ready.error());
    }
    if (ready) ready = session.tracer().attach_at_exec(command->pid());
    if (!ready) return fail(ready.error()), kCommandFailed;
    session.wake_by(command->end_fd());
    if (terminal) terminal->start();  // starts a thread, which would have kept the capabilities that open() drops
    if (end != nullptr) {
        end->pid = command->pid();
        session.end_when([&] { return end->status || (end->status = command->wait(milliseconds{}, stop)); });
    }
    const Status started = command->release();
    if (!started) return fail(started.error()), system::shell_status(started.error());
    if (ready = session.head(); !ready) return fail(ready.error()), kCommandFailed;
    std::optional<CommandView> view;
    if (terminal) {
        view.emplace(*command, *terminal, stop, argv.front());
        session.on_idle([&view](terminal::Screen *screen) { view->look(screen); });
    }
    const Status ran = session.run();
    const int finished = finish(session, ran, kDone);
    if (finished != kDone) return kCommandFailed;
    if (end != nullptr) {
        end->cut_off = !end->status && stop.stop_requested();
        if (!end->status) end->status = command->wait(std::nullopt, stop);
        end->signal = command->signal();
        end->max_rss_kb = command->max_rss_kb();
        return end->status.value_or(kDone);
    }
    const bool time_is_over = session.time_is_over() && !(view && view->status());
    if (time_is_over) {
        if (const Status ended = command->terminate(); !ended) terminal::print_error(ended.error().what);
    }
    if (terminal) {
        const int status = end_of(*command, *terminal, stop, view->status());
        return time_is_over ? kDone : status;
    }
    if (time_is_over || stop.stop_requested()) return kDone;
    return command->wait(std::nullopt, stop).value_or(kDone);
}

int run_trace(const Common &common, session::TraceOptions &options, ClaimOptions &claims) {
    auto style = terminal::text_style(common.unit, common.color);
    if (!style) return fail(style.error());
    style->mouse = options.mouse;
    if (const core::Status parsed = parse_claims(claims); !parsed) return fail(parsed.error());
    if (const core::Status parsed = parse(options); !parsed) return fail(parsed.error());
    options.command_line = common.arguments;
    options.version = version_text().substr(0, version_text().find(','));
    session::TickWriter writer(options.format, options.threads, *style, options.events);
    const bool targets = common.command.empty();
    const int status = targets ? trace_targets(options, writer) : trace_command(common.command, options, writer);
    return check_claims(claims, writer, targets && options.duration.has_value(), options.follow, status);
}

}  // namespace rsslag::cli
