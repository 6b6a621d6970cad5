// SPDX-License-Identifier: BSD-2-Clause
#include "workload/hold.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <tuple>
#include <vector>

#include "core/fd.h"
#include "die.h"
#include "failure.h"
#include "procfs/files.h"
#include "procfs/process.h"

namespace rsslag::workload {
namespace {

using core::Fd;

/// Drops the clean file pages that start-up has faulted in, so that the process holds little more than its workload
/// touches. Pages that are still needed are faulted in again. Written and relocated pages are kept.
void shed_clean_file_pages() {
    const auto self = procfs::Process::open(getpid());
    const auto text = self ? self->smaps_text() : core::Result<procfs::Text>(self.error());
    const auto mappings =
        text ? procfs::parse_smaps(text->bytes) : core::Result<std::vector<procfs::Mapping>>(text.error());
    if (!mappings) return;  // the process then holds some megabytes more
    for (const procfs::Mapping &mapping : *mappings) {
        const bool clean = mapping.fields.anonymous && mapping.fields.anonymous->n == 0;
        if (!mapping.name.starts_with('/') || mapping.perms.find('w') != std::string::npos || !clean) continue;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): /proc prints addresses as numbers
        madvise(reinterpret_cast<void *>(mapping.start), mapping.end - mapping.start, MADV_DONTNEED);
    }
}

std::string ready_text(const std::vector<Fact> &facts) {
    std::string text = fmt::format("ready {}\n", getpid());
    for (const Fact &fact : facts)
        text += fmt::format("{} {}\n", fact.key, fact.value);
    return text;
}

core::Status print(std::string_view text) {
    int err = core::write_all(STDOUT_FILENO, text);
    if (err == 0) err = core::error_at_close(STDOUT_FILENO);
    if (err == 0) return core::success();
    core::Error error = failed("cannot write stdout", err);
    error.kind = core::Kind::Io;
    return error;
}

/// Blocks SIGINT, SIGTERM and SIGHUP for this thread and those that it starts. The result is readable when one has
/// come.
Fd stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    Fd fd(signalfd(-1, &set, SFD_CLOEXEC));
    if (!fd.open()) sigprocmask(SIG_UNBLOCK, &set, nullptr);  // then a signal ends the workload at once
    return fd;
}

void await(const Fd &signals, std::optional<std::chrono::milliseconds> time) {
    pollfd waiting{signals.get(), POLLIN, 0};
    poll(&waiting, 1, time ? static_cast<int>(time->count()) : -1);
}

}  // namespace

core::Status hold(const Workload &workload, const Options &options, const HoldOptions &how) {
    if (how.parent) std::ignore = die_with(*how.parent);
    // A process with file capabilities is not dumpable, so its smaps would be unreadable.
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_NAME, std::string(workload.name).c_str());
    // Otherwise khugepaged could replace base pages and gaps by a huge page once the workload is ready.
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    const Fd signals = stop_signals();
    shed_clean_file_pages();
    // Code that runs after start() runs once before it: page faults on that code would flush what the workload has
    // cached.
    if (auto warm = print(ready_text({{"warm", "up"}}).substr(0, 0)); !warm) return warm;
    [[maybe_unused]] const ssize_t none = write(STDOUT_FILENO, "", 0);
    await(signals, std::chrono::milliseconds{});
    const auto facts = workload.start(options);
    if (!facts) return facts.error();
    if (!how.time) {
        if (auto printed = print(ready_text(*facts)); !printed) return printed;
    }
    await(signals, how.time);
    return core::success();
}

}  // namespace rsslag::workload
