// SPDX-License-Identifier: BSD-2-Clause
// Makes a profile of samples, rows of updates and stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event.h"
#include "exporters/row.h"
#include "profile/arrivals.h"
#include "profile/profile.h"

namespace rsslag::profile {

/// A sample must come before its row and its stack, which may come in any order.
class Collector {
  public:
    void begin(std::uint32_t period) { profile_.period = period; }
    void samples(const core::event::Samples &samples);
    void note(const exporters::UpdateRow &row);
    void note(const exporters::FaultRow &row);
    void note(const exporters::MappingRow &row);
    /// Returns whether it is one of these rows.
    bool note(const exporters::Row &row);
    void stacks(const core::event::Stacks &stacks);
    void absent_pages(const core::event::AbsentPages &absent) { arrivals_.look(absent); }
    /// The pages of the process, as in Arrivals::pages(), ascending by address. Their stacks are those of the profile.
    std::vector<core::SampledPage> sampled_pages(int pid) const;
    /// Whether there were more samples of pages than Arrivals::kMost. Then sampled_pages() returns none.
    bool too_many_pages() const { return arrivals_.overflowed(); }
    /// The profile until now.
    Profile now() const;
    /// The profile. The collector is empty afterwards.
    Profile take();
    /// The number of things that it keeps.
    std::size_t size() const {
        return threads_.size() + rows_ + by_mapping_.size() + stacks_.size() + frames_.size() + waiting_.size() +
               arrivals_.size();
    }

  private:
    struct Waiting {
        core::Sample sample;
        std::optional<core::Pages> pages;  ///< of the update's row
        int pid = 0, tid = 0;
        std::optional<std::uint32_t> mapping;  ///< of the page fault: a number of mappings_
        std::optional<std::size_t> stack;
    };
    /// Sums over the samples of pages / probability.
    struct Estimate {
        double came = 0, went = 0;
        double resident = 0, unknown = 0;  ///< as in Flow
        std::uint64_t samples = 0;
    };
    /// The estimates of a thread, and the variances of their sums.
    struct Estimates {
        std::map<std::pair<std::size_t, Reason>, Estimate> by_stack;
        double came_variance = 0, went_variance = 0;
    };

    /// Notes the pages of a member by a row. `mapping` is that of the page fault; null: none.
    void note_pages(const exporters::Stamp &at, core::Pages pages, std::int64_t sample,
                    const std::string_view *mapping);
    void drop(std::int64_t sample);
    /// To be called for the row and for the stack of a sample: whichever comes last completes it.
    void complete(std::unordered_map<std::uint64_t, Waiting>::iterator at);
    std::optional<std::uint32_t> mapping_number(const exporters::Stamp &at, std::string_view name);
    std::uint32_t frame_number(const core::StackFrame &frame);
    std::size_t stack_number(const core::CallStack &stack, const std::vector<core::StackFrame> &frames);
    std::vector<MappingStack> mapping_stacks() const;
    static void put_thread(Profile &profile, ThreadFlow &thread, const Estimates &estimates);
    Profile profile_of(Profile profile, std::map<Task, Estimates> estimates, std::map<Task, ThreadFlow> threads) const;

    Profile profile_;
    std::unordered_map<std::uint64_t, Waiting> waiting_;  ///< by the number of the sample
    std::unordered_map<int, std::uint64_t> mm_of_;        ///< the mm of a process's last sample, by PID
    Arrivals arrivals_;
    std::map<core::StackFrame, std::uint32_t> frames_;
    std::map<core::CallStack, std::size_t> stacks_;
    std::map<Task, Estimates> estimates_;
    std::size_t rows_ = 0;  ///< of all by_stack
    std::map<Task, ThreadFlow> threads_;
    struct Mapping {
        std::uint32_t number = 0;
        int pid = 0;
    };
    std::map<std::pair<std::uint64_t, std::string>, Mapping> mappings_;  ///< by mm and name
    std::size_t mapping_bytes_ = 0;                                      ///< of their names
    /// The pages that came, by number of the mapping and stack.
    std::map<std::pair<std::uint32_t, std::size_t>, double> by_mapping_;
};

}  // namespace rsslag::profile
