// SPDX-License-Identifier: BSD-2-Clause
// rsslag demo: built-in workloads that lag.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/core/duration.h"
#include "rsslag/core/text.h"
#include "rsslag/host/privileges.h"
#include "rsslag/host/snapshotter.h"
#include "rsslag/terminal/output.h"
#include "rsslag/terminal/style.h"
#include "rsslag/workload/hold.h"
#include "rsslag/workload/workload.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;

struct DemoOptions {
    std::string name;
    workload::Options workload;
    bool list = false;
    bool hold = false;
    std::optional<pid_t> parent;
    struct {
        std::string over;
        std::string time;
    } typed;
    std::optional<std::chrono::milliseconds> time;  ///< --for
    bool json = false;
};

int list_workloads() {
    std::string text;
    for (const workload::Workload &each : workload::all())
        text += fmt::format("{:<20} {}\n", each.name, each.summary);
    const core::Status printed = terminal::print(text);
    return printed ? kDone : fail(printed.error());
}

/// --hold and --for.
int hold(const workload::Workload &workload, const DemoOptions &options) {
    // Root keeps its capabilities, as some workloads need them (huge pages, poison); other users drop those that the
    // file granted.
    if (geteuid() != 0) {
        const core::Status dropped = host::keep_only({});
        if (!dropped) return fail(dropped.error());
    }
    const core::Status held = workload::hold(workload, options.workload, {options.parent, options.time});
    return held ? kDone : fail(held.error());
}

/// The workload in its own process, which runs this binary with --hold.
class Held {
  public:
    static core::Result<Held> start(const std::vector<std::string> &argv) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
        procfs::Fd from(ends[0]);
        procfs::Fd to(ends[1]);
        const pid_t parent = getpid();
        const pid_t pid = fork();
        if (pid < 0) return failed("fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(kNotAllowed);
            if (dup2(to.get(), STDOUT_FILENO) < 0) _exit(kDoesNotHold);
            std::vector<char *> arguments;
            arguments.reserve(argv.size() + 1);
            for (const std::string &argument : argv)
                arguments.push_back(const_cast<char *>(argument.c_str()));
            arguments.push_back(nullptr);
            execv("/proc/self/exe", arguments.data());
            _exit(kNotAllowed);
        }
        return Held(pid, std::move(from));
    }

    ~Held() { end(SIGKILL); }
    Held(Held &&other) noexcept : pid_(std::exchange(other.pid_, 0)), from_(std::move(other.from_)) {}
    Held &operator=(Held &&) = delete;

    pid_t pid() const { return pid_; }

    /// The facts that the workload prints once it is ready; nullopt if it ended, and has printed the reason on stderr.
    std::optional<std::string> facts() {
        std::string text;
        std::array<char, 4096> buffer{};
        for (;;) {
            const ssize_t got = read(from_.get(), buffer.data(), buffer.size());
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return std::nullopt;
            text.append(buffer.data(), static_cast<std::size_t>(got));
            if (text.find('\n') != std::string::npos) return text;  // one write(2) of less than PIPE_BUF: complete
        }
    }

    /// Sends `signal` (0: none), waits for the process and returns its exit status.
    int end(int signal) {
        if (pid_ <= 0) return kDone;
        const pid_t pid = std::exchange(pid_, 0);
        if (kill(pid, signal) != 0) return kNotAllowed;  // it ends with rsslag (PR_SET_PDEATHSIG)
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : kNotAllowed;
    }

  private:
    Held(pid_t pid, procfs::Fd from) : pid_(pid), from_(std::move(from)) {}
    static Error failed(const char *what) {
        return {Kind::Internal, fmt::format("{}: {}", what, std::strerror(errno)), errno, ""};
    }

    pid_t pid_;
    procfs::Fd from_;
};

/// PIDs of the workload's further processes, from its facts "child 4712".
std::vector<pid_t> children(std::string_view facts) {
    std::vector<pid_t> pids;
    constexpr std::string_view kKey = "\nchild ";
    for (std::size_t at = facts.find(kKey); at != std::string_view::npos; at = facts.find(kKey, at + 1)) {
        const char *const digits = facts.data() + at + kKey.size();
        pid_t pid = 0;
        if (std::from_chars(digits, facts.data() + facts.size(), pid).ec == std::errc{}) pids.push_back(pid);
    }
    return pids;
}

std::vector<std::string> hold_arguments(const DemoOptions &options) {
    std::vector<std::string> arguments{"rsslag", "demo", options.name, "--hold"};
    if (options.workload.threads)
        arguments.insert(arguments.end(), {"--threads", std::to_string(*options.workload.threads)});
    if (options.workload.kb) arguments.insert(arguments.end(), {"--kb", std::to_string(*options.workload.kb)});
    arguments.insert(arguments.end(), {"--parent", std::to_string(getpid())});
    if (!options.typed.over.empty()) arguments.insert(arguments.end(), {"--over", options.typed.over});
    return arguments;
}

core::Status parse_times(DemoOptions &options) {
    if (!options.typed.over.empty()) {
        const auto over = core::parse_duration(options.typed.over);
        if (!over) return over.error();
        options.workload.over = *over;
    }
    if (!options.typed.time.empty()) {
        const auto time = core::parse_duration(options.typed.time);
        if (!time) return time.error();
        options.time = *time;
    }
    return core::success();
}

/// The workload that lags most under this kernel's scheme; classic if the scheme is unknown.
std::string_view default_workload() {
    const auto scheme = host::running_scheme();
    return scheme && core::cpus_cache(*scheme) ? "per-cpu" : "classic";
}

int show(host::Snapshotter &snapshotter, const std::vector<pid_t> &pids, const DemoOptions &options,
         const view::TextStyle &style) {
    core::SnapshotDocument document = snapshotter.document();
    for (const pid_t pid : pids) {
        const auto target = procfs::Process::open(pid);
        if (!target) return fail(target.error());
        auto process = snapshotter.take(*target, true);
        if (!process) return fail(process.error());
        document.processes.push_back(std::move(*process));
    }
    std::string text;
    if (options.json) {
        text = view::snapshot_json(document);
    } else {
        for (const core::ProcessReading &process : document.processes) {
            text += (text.empty() ? "" : "\n") + view::snapshot_text(document, process, style);
        }
    }
    const core::Status printed = terminal::print(text);
    return printed ? kDone : fail(printed.error());
}

/// Starts the workload in its own process, takes a snapshot once it is quiescent, and ends it.
int demonstrate(const DemoOptions &options, const view::TextStyle &style) {
    auto snapshotter = host::Snapshotter::open();
    if (!snapshotter) return fail(snapshotter.error());
    auto held = Held::start(hold_arguments(options));
    if (!held) return fail(held.error());
    const auto facts = held->facts();
    if (!facts) return held->end(0);
    if (const core::Status rest = workload::await_rest(held->pid()); !rest) return fail(rest.error());
    std::vector<pid_t> pids = children(*facts);
    pids.insert(pids.begin(), held->pid());
    return show(*snapshotter, pids, options, style);
}

}  // namespace

Run add_demo(CLI::App &app, const Common &common) {
    auto options = std::make_shared<DemoOptions>();
    CLI::App *const command = app.add_subcommand("demo", "Built-in workloads that lag");
    command->add_option("NAME", options->name,
                        "The workload; default: the one that lags most under this kernel's scheme");
    command->add_flag("--list", options->list, "List all workloads");
    command->add_option("--threads", options->workload.threads, "Number of threads");
    command->add_option("--kb", options->workload.kb, "kB that each thread (or the process) touches");
    command->add_flag("--hold", options->hold, "Only start the workload, print 'ready PID' and its facts, and wait");
    command->add_option("--over", options->typed.over,
                        "Spread the build-up over this time (classic, few-pages, per-cpu)");
    command->add_option("--parent", options->parent, "With --hold: end with this process")->group("");
    command->add_option("--for", options->typed.time, "Like --hold, but print nothing and end after this time");
    command->add_flag("--json", options->json, "Print the snapshot as JSON (rsslag.snapshot/2)");
    return [options, &common] {
        if (!common.command.empty()) return fail({Kind::BadInput, "demo takes no -- CMD", 0, ""});
        if (options->list) return list_workloads();
        if (const core::Status parsed = parse_times(*options); !parsed) return fail(parsed.error());
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        if (options->name.empty()) options->name = default_workload();
        const std::string_view name = options->name;
        const workload::Workload *const workload = workload::find(name);
        if (workload == nullptr) {
            return fail({Kind::BadInput, fmt::format("no such workload: '{}'", core::printable(name)), 0,
                         "run rsslag demo --list to list all workloads"});
        }
        return options->hold || options->time ? hold(*workload, *options) : demonstrate(*options, *style);
    };
}

}  // namespace rsslag::cli
