// SPDX-License-Identifier: BSD-2-Clause
// The growth of processes in the last seconds, and what they held, for a screen, from records in the order of their
// time. Pure. Its memory is bounded, independent of the length of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/mapping_table.h"
#include "core/course.h"
#include "core/growth.h"
#include "core/ledger.h"
#include "exporters/row.h"

namespace rsslag::analysis {

class RecentGrowth {
  public:
    static constexpr std::uint64_t kSeconds = 30;

    explicit RecentGrowth(core::Scheme scheme = core::Scheme::Plain) : cpus_cache_(core::cpus_cache(scheme)) {}

    // Thread numbers are the kernel's.
    void note(const rsslag_update &update, const core::Applied &applied, const core::Ledger &ledger);
    void note(const core::SettledUpdate &amount);
    void note(const rsslag_fault &fault, const core::Members &came, const core::Ledger &ledger);
    /// `parent`: PID of the parent task's process; 0: not known.
    void note(const rsslag_task &task, int parent);
    void note(const core::GroupView &adopted);
    void note(const core::MappingChange &change);
    void note(const core::MappingListing &listing);

    /// The growth of the process that has this mm, up to that time.
    core::RecentGrowth of(const core::MmView &mm, std::uint64_t t_ns);
    /// What all mms together held since the last call.
    std::vector<core::CourseSpan> take_course_of_all() { return course_of_all_.take(); }
    /// To be called when the mm has ended.
    void forget(const core::MmView &mm);
    /// Drops growth that is older than kSeconds, and mms that the ledger no longer has.
    void forget_until(std::uint64_t t_ns, const core::Ledger &ledger);

  private:
    /// Width of the spans of a course, and their number between two ticks.
    static constexpr std::uint64_t kCourseNs = 100'000'000;
    static constexpr std::size_t kMostCourse = 128;
    /// Limit on the rows of mappings, and on those of threads, in one second of a process.
    static constexpr std::size_t kMostOfSecond = 4096;
    /// Limit on all rows together.
    static constexpr std::size_t kMost = std::size_t{1} << 17;

    struct Sums {
        std::unordered_map<std::string_view, core::Pages> mappings;  ///< names are owned by table_
        std::unordered_map<int, core::Pages> threads;
        core::Pages other_mappings, other_threads;
        std::array<core::Pages, core::kNoFaults> no_fault{};

        std::size_t rows() const { return mappings.size() + threads.size(); }
    };
    struct Space {
        int pid = 0;
        std::uint64_t born = 0;        ///< unique number
        std::uint64_t generation = 0;  ///< of the mm; 0: not known before the first tick
        std::uint64_t begin_ns = 0;
        std::deque<std::pair<std::uint64_t, Sums>> seconds;
        std::optional<core::Pages> exact;  ///< at the last tick
        core::Pages recorded;              ///< pages that records have added since the last tick
        core::CourseBuilder course{kCourseNs, kMostCourse};
        /// By CPU and the kernel's TID: what the CPU caches of the thread's pages.
        std::map<int, std::unordered_map<int, core::Members>> owners;
    };
    struct Thread {
        int tid = 0;
        std::string comm;
    };
    /// An update whose amount is not settled yet.
    struct Open {
        exporters::UpdateRow row;
        std::uint64_t mm = 0, born = 0;
    };
    struct Into;

    Space &space_of(std::uint64_t mm, std::uint64_t t_ns);
    Space &fresh(std::uint64_t mm, int pid, std::uint64_t t_ns);
    std::string_view mapping_at(Space &space, std::uint64_t mm, std::uint64_t address, const core::Ledger &ledger);
    Sums &second_of(Space &space, std::uint64_t t_ns);
    void expire(Space &space, std::uint64_t t_ns);
    void drop(std::uint64_t mm);
    static Sums total(const Space &space);
    void learn(int host_tid, const core::Ledger &ledger);
    Thread name_of(int host_tid, const core::MmView &mm) const;
    std::vector<core::RecentGrowth::Owner> owners_of(const Space &space, const core::MmView &mm) const;
    static void note_owner(Space &space, const rsslag_update &update, const core::Applied &applied);

    bool cpus_cache_;
    core::CourseBuilder course_of_all_{kCourseNs, kMostCourse};
    MappingTable table_;
    bool any_names_ = false;
    std::uint64_t births_ = 0;
    std::uint64_t next_forget_ns_ = 0;
    std::size_t rows_ = 0;                             ///< of all seconds of all spaces
    std::unordered_map<std::uint64_t, Space> spaces_;  ///< by address of the mm
    std::unordered_map<std::uint64_t, Open> open_;     ///< by ticket
    std::unordered_map<int, std::string_view>
        faulted_;  ///< `thread` scheme, by task: mapping of a fault whose pages no record has reported yet
    std::unordered_map<int, Thread> threads_;  ///< by the kernel's TID: threads in any second
};

}  // namespace rsslag::analysis
