// SPDX-License-Identifier: BSD-2-Clause
// The C++ class behind a handle of librsslag.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "bpf_way.h"
#include "file_way.h"
#include "proc_way.h"
#include "reading.h"

namespace rsslag::lib {

struct Failure {
    core::Error error;
    bool no_memory = false;  ///< the process exists and has no mm
};

template <class T>
using Outcome = std::variant<T, Failure>;

/// Each function tries the ways in its own order. Any thread may call any function at any time.
class Handle {
  public:
    /// `ways`: bitwise or of the ways that may be used.
    Handle(std::uint32_t ways, std::string directory);

    Outcome<Reading> exact(pid_t pid);
    Outcome<Reading> exact_self();
    Outcome<Readings> all();
    core::Status why_not(Way way);

    std::optional<core::Scheme> scheme() const { return scheme_; }
    core::PageSize page_size() const { return machine_.page_size; }
    /// nullopt: not known.
    std::optional<core::Bound> bound(const Reading &reading) const;

  private:
    using Order = std::array<Way, 4>;

    bool allowed(Way way) const { return (ways_ & static_cast<std::uint32_t>(way)) != 0; }
    core::Error with_mount(core::Error error) const;
    ProcWay proc();
    core::Result<Reading> read(pid_t pid, Way way);
    core::Result<Reading> read_self(Way way);
    core::Result<Readings> read_all(Way way);
    template <class T, class Read>
    Outcome<T> first_of(const Order &order, const std::string &what, const Read &read);

    std::uint32_t ways_;
    pid_t owner_;
    core::Machine machine_;
    std::optional<core::Scheme> scheme_;
    core::Result<std::unique_ptr<BpfWay>> bpf_;
    FileWay file_;
    std::mutex proc_mutex_;
    std::optional<ProcWay> proc_;  ///< created when first used, since it requires the experiment
    std::chrono::steady_clock::time_point proc_at_;
};

}  // namespace rsslag::lib
