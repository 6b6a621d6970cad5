// SPDX-License-Identifier: BSD-2-Clause
#include "file_budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "exit_status.h"

namespace rsslag::cli {
namespace {

/// RLIMIT_DATA, plus the size of the files. The rest of the 256 MiB is for mappings that RLIMIT_DATA does not count.
constexpr std::uint64_t kMemory = std::uint64_t{224} << 20;
/// Work that is always allowed, and that allowed per byte: far more than recordings of a tracer take.
constexpr std::uint64_t kWork = 300'000'000, kWorkOfByte = 64;
/// CPU time for reading all records: 60 % of 10 s and of 1 s per 4 MB. The rest is for the work after the last record.
constexpr double kSeconds = 6, kSecondsOfByte = 0.6 / 4e6;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::uint64_t size_of(const std::string &file) {
    std::error_code err;
    const std::uintmax_t size = std::filesystem::file_size(file, err);
    return err ? 0 : size;
}

/// No limit under AddressSanitizer, whose own memory exceeds it.
void hold_memory_to([[maybe_unused]] std::uint64_t bytes) {
#ifndef __SANITIZE_ADDRESS__
    rlimit limit{};
    if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, bytes);
    setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace

FileBudget::FileBudget(std::vector<std::string> files) : files_(std::move(files)) {
    for (const std::string &file : files_)
        bytes_ += size_of(file);
}

bool FileBudget::spent(std::uint64_t work) {
    const auto bytes = static_cast<double>(bytes_);
    spent_ = spent_ || (work > kWork + kWorkOfByte * bytes_ && cpu_seconds() > kSeconds + kSecondsOfByte * bytes);
    return spent_;
}

int FileBudget::refuse(const std::string &why) const {
    std::vector<std::string> names;
    for (const std::string &file : files_)
        names.push_back(core::printable(file));
    return fail({core::Kind::BadInput,
                 fmt::format("{} holds far more than its size allows: {}", fmt::join(names, " or "), why), 0,
                 "name a recording that rsslag wrote"});
}

int FileBudget::run(const std::function<int()> &read) {
    hold_memory_to(kMemory + bytes_);
    try {
        const int status = read();
        return spent_ ? refuse("reading it takes too long") : status;
    } catch (const std::bad_alloc &) {
        return refuse(fmt::format("reading it takes more than {} MiB of memory", (kMemory + bytes_) >> 20));
    }
}

}  // namespace rsslag::cli
