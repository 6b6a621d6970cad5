// SPDX-License-Identifier: BSD-2-Clause
#include "unwind_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recording/stack_codec.h"
#include "system/privileges.h"

namespace rsslag::tracer {
namespace {

using recording::ByteReader;
using recording::Bytes;
using recording::put;
using recording::put_signed;
using recording::put_text;

constexpr int kPatienceMs = 120'000;
/// A batch has samples of at most 64 MiB (unwinding.cpp), and mappings. A result has less.
constexpr std::uint64_t kMostMessage = std::uint64_t{1} << 30;

// Messages: the size of the body in 8 bytes, then the body.

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = core::uninterrupted([&] { return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool send_message(int fd, const Bytes &body) {
    const std::uint64_t size = body.size();
    return send_all(fd, {reinterpret_cast<const char *>(&size), sizeof(size)}) && send_all(fd, body);
}

/// `patience_ms`: longest wait for the next bytes; -1: any time.
bool receive_all(int fd, char *bytes, std::size_t size, int patience_ms) {
    while (size > 0) {
        pollfd ready{fd, POLLIN, 0};
        if (core::uninterrupted([&] { return poll(&ready, 1, patience_ms); }) <= 0) return false;
        const ssize_t got = core::uninterrupted([&] { return ::read(fd, bytes, size); });
        if (got <= 0) return false;
        bytes += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

std::optional<Bytes> receive_message(int fd, int patience_ms) {
    std::uint64_t size = 0;
    if (!receive_all(fd, reinterpret_cast<char *>(&size), sizeof(size), patience_ms) || size > kMostMessage) return {};
    Bytes body;
    constexpr std::uint64_t kStep = std::uint64_t{1} << 20;  // the size may be wrong
    while (body.size() < size) {
        const std::size_t before = body.size();
        body.resize(before + static_cast<std::size_t>(std::min(kStep, size - before)));
        if (!receive_all(fd, body.data() + before, body.size() - before, patience_ms)) return {};
    }
    return body;
}

void put_range(Bytes &out, const core::MappedRange &range) {
    put(out, range.start);
    put(out, range.end);
    put(out, range.flags);
    put_text(out, range.name);
    put(out, range.offset);
    put(out, range.inode);
    put(out, range.device);
}

core::MappedRange read_range(ByteReader &in) {
    core::MappedRange range;
    range.start = in.number();
    range.end = in.number();
    range.flags = static_cast<std::uint8_t>(in.number());
    range.name = in.text();
    range.offset = in.number();
    range.inode = in.number();
    range.device = in.number();
    return range;
}

void put_change(Bytes &out, const core::MappingChange &change) {
    put(out, static_cast<std::uint64_t>(change.kind));
    put(out, change.t_ns);
    put_signed(out, change.pid);
    put_range(out, change.range);
    put(out, change.old_start);
    put(out, change.old_end);
    put_text(out, {reinterpret_cast<const char *>(change.build_id.bytes.data()), change.build_id.size});
}

core::MappingChange read_change(ByteReader &in) {
    core::MappingChange change;
    change.kind = static_cast<core::MappingChange::Kind>(in.number());
    change.t_ns = in.number();
    change.pid = in.small();
    change.range = read_range(in);
    change.old_start = in.number();
    change.old_end = in.number();
    const std::string_view id = in.text_up_to(core::BuildId::kMost);
    change.build_id.size = static_cast<std::uint8_t>(id.size());
    std::copy(id.begin(), id.end(), change.build_id.bytes.begin());
    return change;
}

void put_listing(Bytes &out, const core::MappingListing &listing) {
    put_signed(out, listing.pid);
    put(out, listing.entries.size());
    for (const core::MappingListing::Entry &entry : listing.entries)
        put_range(out, entry.range);
}

core::MappingListing read_listing(ByteReader &in) {
    core::MappingListing listing;
    listing.pid = in.small();
    for (std::uint64_t left = in.number(); left > 0 && !in.bad(); --left)
        listing.entries.push_back({read_range(in), std::nullopt});
    return listing;
}

/// For a batch that is not unwound.
Unwinder::Result dropped(const Unwinder::Batch &batch) {
    if (batch.samples.empty()) return {};
    event::Stacks stacks;
    stacks.first = batch.first;
    stacks.lost = batch.lost;
    stacks.stacks = {{{}, core::StackEnd::Dropped}};
    stacks.of.resize(batch.samples.size());
    Unwinder::Result result;
    result.stacks.push_back(std::move(stacks));
    return result;
}

/// The child. Ends when the parent closes the connection, which it also does by its own end.
[[noreturn]] void serve(int connection, const core::SampleOptions &options) {
    constexpr int kNull = 0, kHere = 3;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP})  // a terminal sends some to all its processes
        std::signal(signal, SIG_IGN);
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {kNull, 1, 2})
        if (null < 0 || dup2(null, fd) < 0) _exit(1);
    if (connection != kHere && dup2(connection, kHere) < 0) _exit(1);
    if (close_range(kHere + 1, ~0U, 0) != 0) _exit(1);
    prctl(PR_SET_NAME, "rsslag-unwinder");
    core::Fd kallsyms(open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));  // while there is CAP_SYSLOG
    if (!system::keep_only(std::vector<cap_value_t>{CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH})) _exit(1);
    Unwinder unwinder(options, std::move(kallsyms));
    while (const auto message = receive_message(kHere, -1))
        if (!send_message(kHere, encoded(unwinder.unwound(batch_of(ByteReader(*message)))))) break;
    _exit(0);
}

}  // namespace

Bytes encoded(const Unwinder::Batch &batch) {
    Bytes out;
    put(out, batch.first);
    put(out, batch.lost);
    put(out, batch.samples.size());
    for (const RawSample &sample : batch.samples)
        put_text(out, recording::as_text(sample));
    put(out, batch.changes.size());
    for (const core::MappingChange &change : batch.changes)
        put_change(out, change);
    put(out, batch.listings.size());
    for (const core::MappingListing &listing : batch.listings)
        put_listing(out, listing);
    put(out, batch.forks.size());
    for (const Unwinder::Fork &fork : batch.forks) {
        put(out, fork.t_ns);
        put_signed(out, fork.parent);
        put_signed(out, fork.child);
    }
    put(out, batch.ended.size());
    for (const int pid : batch.ended)
        put_signed(out, pid);
    return out;
}

Unwinder::Batch batch_of(ByteReader in) {
    Unwinder::Batch batch;
    batch.first = in.number();
    batch.lost = in.number();
    for (std::uint64_t left = in.number(); left > 0 && !in.bad(); --left) {
        const std::string_view bytes = in.text();
        const auto *const data = reinterpret_cast<const std::byte *>(bytes.data());
        batch.samples.emplace_back(data, data + bytes.size());
    }
    for (std::uint64_t left = in.number(); left > 0 && !in.bad(); --left)
        batch.changes.push_back(read_change(in));
    for (std::uint64_t left = in.number(); left > 0 && !in.bad(); --left)
        batch.listings.push_back(read_listing(in));
    for (std::uint64_t left = in.number(); left > 0 && !in.bad(); --left) {
        Unwinder::Fork fork;
        fork.t_ns = in.number();
        fork.parent = in.small();
        fork.child = in.small();
        batch.forks.push_back(fork);
    }
    for (std::uint64_t left = in.number(); left > 0 && !in.bad(); --left)
        batch.ended.push_back(in.small());
    return batch;
}

Bytes encoded(const Unwinder::Result &result) {
    Bytes out;
    put(out, result.stacks.size());
    for (const event::Stacks &stacks : result.stacks) {
        Bytes body;
        recording::put_stacks(body, stacks);
        put_text(out, body);
    }
    put(out, result.cut.size());
    for (const auto &[tid, copied] : result.cut) {
        put_signed(out, tid);
        put(out, copied);
    }
    return out;
}

std::optional<Unwinder::Result> result_of(ByteReader in, const Unwinder::Batch &batch) {
    Unwinder::Result result;
    std::uint64_t next = batch.first;
    for (std::size_t left = in.count(); left > 0 && !in.bad(); --left) {
        ByteReader body(in.text());
        event::Stacks stacks = recording::read_stacks(body);
        if (body.bad() || stacks.first != next) return std::nullopt;
        next += stacks.of.size();
        result.stacks.push_back(std::move(stacks));
    }
    if (in.bad() || next != batch.first + batch.samples.size()) return std::nullopt;
    for (std::size_t left = in.count(); left > 0 && !in.bad(); --left) {
        const int tid = in.small();
        result.cut[tid] = static_cast<std::size_t>(in.number());
    }
    if (in.bad() || !in.at_end()) return std::nullopt;
    return result;
}

core::Result<UnwindProcess> UnwindProcess::start(const core::SampleOptions &options) {
    int ends[2] = {-1, -1};
    const auto failed = [] {
        return core::Error{core::Kind::Io, std::string("cannot start a process: ") + std::strerror(errno), errno, ""};
    };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed();
    core::Fd own(ends[0]), other(ends[1]);
    const pid_t pid = fork();
    if (pid < 0) return failed();
    if (pid == 0) serve(other.get(), options);
    return UnwindProcess(pid, std::move(own));
}

UnwindProcess::UnwindProcess(UnwindProcess &&other) noexcept
    : pid_(std::exchange(other.pid_, 0)), connection_(std::move(other.connection_)) {}

UnwindProcess::~UnwindProcess() {
    if (pid_ == 0) return;
    connection_.reset();
    kill(pid_, SIGKILL);  // it may be busy
    core::uninterrupted([&] { return waitpid(pid_, nullptr, 0); });
}

Unwinder::Result UnwindProcess::unwound(const Unwinder::Batch &batch) {
    if (!connection_.open()) return dropped(batch);
    if (send_message(connection_.get(), encoded(batch))) {
        if (const auto message = receive_message(connection_.get(), kPatienceMs))
            if (auto result = result_of(ByteReader(*message), batch)) return *std::move(result);
    }
    spdlog::warn("the process that unwinds stacks has failed: later samples have no stack");
    connection_.reset();
    return dropped(batch);
}

}  // namespace rsslag::tracer
