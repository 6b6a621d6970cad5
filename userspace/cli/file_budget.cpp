// SPDX-License-Identifier: BSD-2-Clause
#include "file_budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "exit_status.h"
#include "system/own_cost.h"
#include "system/slowness.h"
#include "terminal/output.h"
#include "terminal/rescue.h"

#ifndef sigev_notify_thread_id  // glibc before 2.36
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace rsslag::cli {
namespace {

/// RLIMIT_DATA, plus the size of the files. The rest of the 256 MiB is for mappings that RLIMIT_DATA does not count.
constexpr std::uint64_t kMemory = std::uint64_t{224} << 20;
/// Work that is always allowed, and that allowed per byte: far more than recordings of a tracer take.
constexpr std::uint64_t kWork = 300'000'000, kWorkOfByte = 64;
/// CPU time for reading all records: 40 % of 10 s and 60 % of 1 s per 4 MB. The rest is for the work after the last
/// record and for other programs on the machine.
constexpr double kSeconds = 4, kSecondsOfByte = 0.6 / 4e6;
/// CPU time for a recording that is not as dense as that, by its size and by the work so far: twice what the slowest
/// export of a recording of a tracer takes, whose records have a byte or more each. Small files do not gain from it,
/// nor do files that are mostly padding.
constexpr double kSecondsOfSparseByte = 10e-6, kSecondsOfWork = 0.25e-6;
/// The command ends at this multiple of the time for reading.
constexpr double kToTheEnd = 1.5;
constexpr const char *kTooLong = "reading it takes too long";

std::uint64_t size_of(const std::string &file) {
    std::error_code err;
    const std::uintmax_t size = std::filesystem::file_size(file, err);
    return err ? 0 : size;
}

std::uint64_t memory_limit() {
    rlimit limit{};
    return getrlimit(RLIMIT_DATA, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// No limit under AddressSanitizer, whose own memory exceeds it.
void hold_memory_to([[maybe_unused]] std::uint64_t bytes) {
#ifndef __SANITIZE_ADDRESS__
    rlimit limit{};
    if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_DATA, &limit);
#endif
}

/// The option of ulimit that shows a limit which leaves rsslag less memory than `bytes`; nullopt: there is none.
std::optional<const char *> lower_limit(std::uint64_t bytes) {
    const auto is_below = [](auto resource, std::uint64_t most) {
        rlimit limit{};
        return getrlimit(resource, &limit) == 0 && limit.rlim_cur < most;  // RLIM_INFINITY is the largest number
    };
    constexpr std::uint64_t kPrograms = std::uint64_t{64} << 20;  // address space that is no data: programs, libraries
    if (is_below(RLIMIT_DATA, bytes)) return "-d";
    return is_below(RLIMIT_AS, bytes + kPrograms) ? std::optional("-v") : std::nullopt;
}

}  // namespace

FileBudget::FileBudget(std::vector<std::string> files) : files_(std::move(files)) {
    for (const std::string &file : files_)
        bytes_ += size_of(file);
}

FileBudget::~FileBudget() {
    done();
    if (given_memory_ > 0) hold_memory_to(given_memory_);
}

double FileBudget::seconds() const {
    const auto bytes = static_cast<double>(bytes_);
    const double least = kSeconds + kSecondsOfByte * bytes;
    const double more = kSecondsOfByte * static_cast<double>(more_bytes_);
    const double sparse =
        std::min(kSecondsOfSparseByte * bytes, kSecondsOfWork * static_cast<double>(earlier_work_ + work_));
    return slowness_.value_or(1) * (more + (dense_ ? least : std::max(least, sparse)));
}

void FileBudget::add(std::uint64_t bytes) {
    more_bytes_ += bytes;
    hold_memory_to(std::min(given_memory_, kMemory + bytes_ + more_bytes_));
    set_deadline();
}

bool FileBudget::spent(std::uint64_t work) {
    if (work < work_) earlier_work_ += work_;  // the next file
    work_ = work;
    if (!dense_ && work_ > kWork + kWorkOfByte * bytes_) {
        dense_ = true;
        set_deadline();
    }
    const auto over = [this] { return system::cpu_seconds() > began_ + seconds(); };
    if (!slowness_ && over()) {
        slowness_ = system::slowness();
        set_deadline();
    }
    if (seconds() > 1.1 * deadline_of_) set_deadline();
    spent_ = spent_ || over();
    return spent_;
}

std::string FileBudget::names() const {
    std::vector<std::string> names;
    for (const std::string &file : files_)
        names.push_back(core::printable(file));
    return fmt::format("{}", fmt::join(names, " or "));
}

core::Error FileBudget::refusal(const std::string &why) const {
    return {core::Kind::BadInput, fmt::format("{} contains far more than its size allows: {}", names(), why), 0,
            "name a recording that rsslag wrote, or use a faster machine"};
}

core::Error FileBudget::too_little_memory(const char *limit) const {
    return {core::Kind::Io,
            fmt::format("there is not enough memory to read {}: a limit of this process is below {} MiB", names(),
                        (kMemory + bytes_) >> 20),
            0, fmt::format("raise the limit that ulimit {} shows", limit)};
}

/// The signal goes to this thread, so it interrupts this thread alone, and none comes once done() has returned.
void FileBudget::start_clock() {
    began_ = system::cpu_seconds();
    const core::Error error = refusal(kTooLong);
    terminal::end_at_deadline(terminal::error_text(error.what + "; " + error.remedy), exit_status(error.kind));
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGXCPU;
    event.sigev_notify_thread_id = gettid();
    timer_t timer{};
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;  // spent() is still asked
    timer_ = timer;
    set_deadline();
}

void FileBudget::set_deadline() {
    if (!timer_) return;
    deadline_of_ = seconds();
    const double at = began_ + kToTheEnd * deadline_of_;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<std::time_t>(at);
    when.it_value.tv_nsec = static_cast<long>((at - std::floor(at)) * 1e9);
    timer_settime(*timer_, TIMER_ABSTIME, &when, nullptr);
}

void FileBudget::restart() {
    earlier_work_ = 0;
    began_ = system::cpu_seconds();
    set_deadline();
}

void FileBudget::done() {
    if (timer_) timer_delete(*timer_);
    timer_.reset();
    terminal::forget_deadline();
}

int FileBudget::run(const std::function<int()> &read) {
    const std::optional<const char *> lower = lower_limit(kMemory + bytes_);
    given_memory_ = memory_limit();
    hold_memory_to(std::min(given_memory_, kMemory + bytes_));
    start_clock();
    try {
        const int status = read();
        done();
        return spent_ ? fail(refusal(kTooLong)) : status;
    } catch (const std::bad_alloc &) {
        done();
        if (lower) return fail(too_little_memory(*lower));
        const std::uint64_t most = kMemory + bytes_ + more_bytes_;
        return fail(refusal(fmt::format("reading it takes more than {} MiB of memory", most >> 20)));
    }
}

}  // namespace rsslag::cli
