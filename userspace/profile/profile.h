// SPDX-License-Identifier: BSD-2-Clause
// By which stacks the pages of a recording came and went, estimated from samples of updates (--stacks).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/samples.h"
#include "core/units.h"
#include "profile/reason.h"

namespace rsslag::profile {

/// Pages that came and went. None is negative.
struct Flow {
    std::int64_t came = 0, went = 0;
    std::int64_t resident = 0;  ///< part of `came`: resident at the last walk of the process
    std::int64_t unknown = 0;   ///< part of `came`: not known whether resident
    std::uint64_t samples = 0;

    void add(core::Pages pages);
    std::int64_t net() const { return came - went; }
    std::int64_t size() const { return came + went; }
    Flow &operator+=(const Flow &other);
};

/// The flow of a thread by one stack and for one reason.
struct StackFlow {
    std::size_t stack = 0;  ///< index of Profile::stacks
    Reason reason = Reason::PageFault;
    int pid = 0, tid = 0;
    Flow flow;
};

struct ThreadFlow {
    int pid = 0, tid = 0;
    std::string comm;
    Flow exact;        ///< from the records; `samples` is 0
    Flow unexplained;  ///< what no sample explains, since there are none, or fewer than chance allows
};

/// The stack by which most of the pages of a mapping came, of those with a sample.
struct MappingStack {
    std::uint64_t mm = 0;  ///< exporters::Stamp::mm
    int pid = 0;           ///< of the process that has this mm
    std::string mapping;   ///< its name, raw bytes
    std::size_t stack = 0;
    double share = 0;  ///< of the pages that the samples of the mapping stand for
};

/// For each thread and direction the flows of its stacks and what is unexplained sum up to what the records say, to the
/// page.
struct Profile {
    std::uint32_t period = 0;  ///< pages to a sample, on average; 0: the recording has no samples
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;       ///< samples for which the ring had no space
    std::uint64_t unmatched = 0;  ///< samples whose record or amount is unknown
    bool lossy = false;           ///< records of counters are missing: any amount may be higher or lower
    bool walked = false;          ///< Flow::resident is known of some
    std::vector<core::StackFrame> frames;
    std::vector<core::CallStack> stacks;
    std::vector<StackFlow> flows;  ///< the largest first
    std::vector<ThreadFlow> threads;
    std::vector<MappingStack> mappings;  ///< sorted by mm and name

    const MappingStack *mapping(std::uint64_t mm, std::string_view name) const;
    const ThreadFlow *thread(int pid, int tid) const;
};

/// One stack and reason, of all threads.
struct StackSum {
    std::size_t stack = 0;
    Reason reason = Reason::PageFault;
    Flow flow;
    std::vector<int> tids;  ///< ascending
};
/// A process or a thread; 0: all.
struct Of {
    int pid = 0, tid = 0;

    bool includes(int of_pid, int of_tid) const { return (pid == 0 || pid == of_pid) && (tid == 0 || tid == of_tid); }
};

/// The largest first.
std::vector<StackSum> by_stack(const Profile &profile, const Of &of = {});

/// The sum of ThreadFlow::unexplained, and the threads that have some.
StackSum unexplained(const Profile &profile, const Of &of = {});

/// "outermost", "cut" and so on.
std::string_view name(core::StackEnd end);

/// The innermost frame that stands for the reason: "[munmap]". Empty for page faults and unknown reasons, which the
/// other frames show well enough.
std::string frame_of(Reason reason);

/// The function, or the file in brackets if its name is not known. Raw bytes.
std::string name_of(const core::StackFrame &frame);

/// "≥" before `amount` if more may be resident; "–" if nothing is known.
std::string resident_text(const Flow &flow, const std::string &amount, bool utf8);

/// "parse_json < load < main": the innermost frames of a stack, at most `most`. Raw bytes.
std::string innermost(const Profile &profile, std::size_t stack, std::size_t most);

/// "60 % by parse_json < load < main < _start". Raw bytes.
std::string most_by(const Profile &profile, const MappingStack &mapping);

/// Integers that sum up to `whole`, in the ratio of the weights, which are at least 0. All are 0 if all weights are.
std::vector<std::int64_t> apportion(std::int64_t whole, const std::vector<double> &weights);

}  // namespace rsslag::profile
