// SPDX-License-Identifier: BSD-2-Clause
// Which of the pages that came by a sampled fault are still resident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event.h"
#include "profile/reason.h"

namespace rsslag::profile {

using Task = std::pair<int, int>;  ///< PID of the mm, TID

/// A page belongs to the last sample that owns it (core::owns_page). A write to a private page of a file replaces this
/// page alone, of the 16 or so that came with it by one fault. So the sample of that fault keeps the page, too.
class Arrivals {
  public:
    /// Above this number of samples nothing is known any more.
    static constexpr std::size_t kMost = std::size_t{1} << 20;

    explicit Arrivals(std::size_t most = kMost) : most_(most) {}

    /// What a sample stands for.
    struct Origin {
        Task task;
        std::size_t stack = 0;
        Reason reason = Reason::PageFault;
        double pages = 0;
    };
    enum class Residence : std::uint8_t { Gone, Resident, Unknown };

    void note(const core::Sample &sample, std::uint64_t number);
    void explain(std::uint64_t number, const Origin &origin);
    void look(const core::event::AbsentPages &absent);

    /// Whether there was a look, and not too many samples.
    bool known() const { return looked_ && !overflowed_; }
    /// The samples that have an origin and whose pages may be resident. As of the last look at the process; what came
    /// later is Unknown.
    void each(const std::function<void(const Origin &origin, Residence residence)> &use) const;

  private:
    static constexpr std::uint64_t kIsFile = 1;
    struct Space {
        int pid = 0;  ///< of the last look; 0: there was none
        std::uint64_t from = 0, before = 0;
        std::unordered_map<std::uint64_t, std::uint64_t> owners;  ///< sample numbers, by page and kIsFile
        /// Numbers of samples that owned a page at the last look, and now another one does.
        std::vector<std::uint64_t> replaced;
    };
    Residence residence(const Space &space, std::uint64_t mm, std::uint64_t number) const;

    std::size_t most_;
    bool looked_ = false, overflowed_ = false;
    std::unordered_map<std::uint64_t, std::optional<Origin>> origins_;  ///< by number, of owners and replaced ones
    std::unordered_map<std::uint64_t, Space> spaces_;                   ///< by mm
    std::unordered_map<int, std::uint64_t> mms_;                        ///< at the last look, by PID
};

}  // namespace rsslag::profile
