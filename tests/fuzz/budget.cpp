// SPDX-License-Identifier: BSD-2-Clause
#include "budget.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <new>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

namespace rsslag::fuzz {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
#if __has_feature(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
constexpr double kSlower = 4;
#else
constexpr double kSlower = 1;
#endif

std::atomic<std::size_t> allocated = 0, most = kNoLimit;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

Budget::Budget(std::size_t bytes) : began_(cpu_seconds()), seconds_(kSlower * (10 + static_cast<double>(bytes) / 4e6)) {
    most = allocated + (std::size_t{256} << 20) + bytes;
}

Budget::~Budget() {
    most = kNoLimit;
}

double Budget::used() const {
    return cpu_seconds() - began_;
}

}  // namespace rsslag::fuzz

void *operator new(std::size_t size, const std::nothrow_t & /*tag*/) noexcept {
    using rsslag::fuzz::allocated;
    const bool fits = size <= rsslag::fuzz::most && allocated <= rsslag::fuzz::most - size;
    void *const bytes = fits ? std::malloc(size) : nullptr;
    if (bytes != nullptr) allocated += malloc_usable_size(bytes);
    return bytes;
}

void *operator new(std::size_t size) {
    void *const bytes = operator new(size, std::nothrow);
    if (bytes == nullptr) throw std::bad_alloc();
    return bytes;
}

void operator delete(void *bytes) noexcept {
    rsslag::fuzz::allocated -= malloc_usable_size(bytes);
    std::free(bytes);
}

void operator delete(void *bytes, std::size_t /*size*/) noexcept {
    operator delete(bytes);
}
