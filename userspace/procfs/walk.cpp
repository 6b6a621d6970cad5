// SPDX-License-Identifier: BSD-2-Clause
// smaps and smaps_rollup, the two files that walk page tables and that may end early without an error.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "io.h"
#include "process_errors.h"
#include "procfs/own_walk.h"
#include "procfs/process.h"

namespace rsslag::procfs {

namespace {

/// Whether the mm that this descriptor was opened on still has users. If the process exits or execs while its smaps is
/// read, the file ends between two mappings without an error (m_start() finds no users). So the end of the file does
/// not prove that all of it was read. For a read of one byte the kernel walks only the first mapping.
bool memory_still_there(int fd) {
    char first = 0;
    return core::read_at(fd, 0, {&first, 1}) == 1;
}

/// One attempt at one file. Empty bytes: the process has no mm, or none any more.
Try<Text> walk_once(const Process &process, const std::string &path) {
    auto begin = std::chrono::steady_clock::now();
    auto opened = open_at(process.dir_fd(), path.c_str(), O_RDONLY);
    if (const auto *error = std::get_if<Errno>(&opened)) return *error;
    int fd = std::get<Fd>(opened).get();
    auto bytes = read_to_end(fd);
    if (const auto *error = std::get_if<Errno>(&bytes)) return *error;
    Text text{std::move(std::get<std::string>(bytes)), std::chrono::steady_clock::now() - begin};
    // smaps_rollup is one record, printed whole or refused with ESRCH; a second read would walk everything again.
    bool in_parts = path.ends_with("smaps");
    if (in_parts && !text.bytes.empty() && !memory_still_there(fd)) text.bytes.clear();
    return text;
}

/// The final result of an attempt: its text or a permanent error; nullopt if there was no mm under this path.
std::optional<core::Result<Text>> final_result(const Process &process, const char *name, Try<Text> attempt) {
    if (auto *text = std::get_if<Text>(&attempt)) {
        if (text->bytes.empty()) return std::nullopt;
        return std::move(*text);
    }
    int err = std::get<Errno>(attempt).value;
    if (err == ESRCH && still_there(process)) return std::nullopt;
    return failure_below(process, name, err);
}

/// A leader that has called pthread_exit() is a zombie without an mm while its threads live on. Their files walk the
/// same mm. Threads that exit meanwhile are skipped.
std::optional<core::Result<Text>> walk_through_a_thread(const Process &process, const char *name) {
    auto tids = process.threads();
    if (!tids) return core::Result<Text>(std::move(tids).error());
    for (pid_t tid : *tids) {
        if (tid == process.pid()) continue;
        auto attempt = walk_once(process, fmt::format("task/{}/{}", tid, name));
        const auto *error = std::get_if<Errno>(&attempt);
        if (error != nullptr && (error->value == ESRCH || error->value == ENOENT)) continue;
        if (auto result = final_result(process, name, std::move(attempt))) return result;
    }
    return std::nullopt;
}

core::Result<Text> walk(const Process &process, const char *name) {
    // A process may exec while it is read: then the next attempt reads the new mm.
    constexpr int kAttempts = 3;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (auto result = final_result(process, name, walk_once(process, name))) return *std::move(result);
        if (auto result = walk_through_a_thread(process, name)) return *std::move(result);
    }
    return still_there(process) ? no_memory(process.pid()) : failure(process.pid(), name, ESRCH);
}

}  // namespace

core::Result<Text> Process::smaps_rollup_text() const {
    return walk(*this, "smaps_rollup");
}
core::Result<Text> Process::smaps_text() const {
    return walk(*this, "smaps");
}

core::Walk walk_of(core::WalkFile file, const SmapsFields &sums, std::chrono::nanoseconds took) {
    core::Walk walk;
    walk.file = file;
    walk.rss = or_zero(sums.rss);
    walk.pss = or_zero(sums.pss);
    walk.swap = or_zero(sums.swap);
    walk.anonymous = sums.anonymous;
    walk.took_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    return walk;
}

}  // namespace rsslag::procfs
