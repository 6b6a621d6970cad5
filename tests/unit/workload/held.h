// SPDX-License-Identifier: BSD-2-Clause
// A workload in its own process, as in `rsslag demo NAME --hold`, and what /proc shows about it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads.h"

namespace rsslag::workload::test {

/// Runs until its destructor. Has either facts or an error.
class HeldWorkload {
  public:
    explicit HeldWorkload(std::string_view name, Options options = {});
    ~HeldWorkload();
    HeldWorkload(const HeldWorkload &) = delete;
    HeldWorkload &operator=(const HeldWorkload &) = delete;

    bool ok() const { return !error_; }
    const core::Error &error() const { return *error_; }
    /// Whether the machine or the user's rights caused the error: a reason to skip.
    bool refused() const;

    pid_t pid() const { return pid_; }
    bool has(const std::string &key) const { return facts_.contains(key); }
    std::int64_t fact(const std::string &key) const { return std::stoll(facts_.at(key)); }
    const std::string &text(const std::string &key) const { return facts_.at(key); }

    /// The sum of a field of smaps over the range of the fact "mapping". `pid`: a process other than the main one.
    std::int64_t mapping_kb(std::string_view label, std::optional<pid_t> pid = std::nullopt) const;

  private:
    pid_t pid_ = 0;
    std::map<std::string, std::string> facts_;
    std::optional<core::Error> error_;
};

std::string slurp(const std::string &path);
std::string proc(pid_t pid, std::string_view file);
/// A line of smaps_rollup, e.g. "Rss:"; 0 if it is missing.
std::int64_t labelled(const std::string &text, std::string_view label);
/// Field `number` of /proc/PID/stat as proc(5) counts them.
std::string stat_field(const std::string &stat, int number);

std::vector<pid_t> tasks_of(pid_t pid);
/// The states of all its tasks, sorted: "SSSS".
std::string states_of(pid_t pid);

/// The values that must not change in a quiescent process. Without Pss and shared memory, which change with every
/// process that maps the same library.
struct Reading {
    std::string faults, rss;
    std::int64_t walked_kb = 0, anonymous_kb = 0, swapped_kb = 0;

    bool operator==(const Reading &) const = default;
};
Reading reading_of(pid_t pid);

}  // namespace rsslag::workload::test

#define SKIP_WHERE_REFUSED(held)                                                                        \
    if ((held).refused()) GTEST_SKIP() << (held).error().what << "; remedy: " << (held).error().remedy; \
    ASSERT_TRUE((held).ok()) << (held).error().what
