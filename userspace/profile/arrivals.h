// SPDX-License-Identifier: BSD-2-Clause
// Which of the pages that came by a sampled fault are still resident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event.h"
#include "profile/reason.h"

namespace rsslag::profile {

using Task = std::pair<int, int>;  ///< PID of the mm, TID

/// A page belongs to the last sample that owns it (core::owns_page). A write to a private mapping of a file replaces
/// one page of the 16 or so that a fault on the file has added. So the page of the file and its private copy have
/// separate owners.
class Arrivals {
  public:
    /// The limit of samples. If there are more, known() is false.
    static constexpr std::size_t kMost = std::size_t{1} << 20;

    explicit Arrivals(std::size_t most = kMost) : most_(most) {}

    /// What a sample stands for.
    struct Origin {
        Task task;
        std::size_t stack = 0;
        Reason reason = Reason::PageFault;
        double pages = 0;
        std::optional<std::uint32_t> mapping{};  ///< the number of its name
    };
    enum class Residence : std::uint8_t { Gone, Resident, Unknown };

    void note(const core::Sample &sample, std::uint64_t number);
    /// The pages of this range of addresses are at other addresses from now on (mremap).
    struct Move {
        std::uint64_t mm = 0;
        std::uint64_t from = 0, to = 0;  ///< before; `to` is exclusive
        std::uint64_t now = 0;           ///< the address of the first page after it
        std::uint64_t t_ns = 0;          ///< as AbsentPages::t_ns
    };
    /// Whether the sample of this number is of an update before the move.
    using CameBefore = std::function<bool(std::uint64_t number)>;
    /// May come after looks that were after it: those were at the new addresses.
    void move(const Move &move, const CameBefore &came_before);
    void explain(std::uint64_t number, const Origin &origin);
    void look(const core::event::AbsentPages &absent);

    /// The number of samples that it keeps.
    std::size_t size() const { return origins_.size(); }
    /// Whether there were more samples than the limit.
    bool overflowed() const { return overflowed_; }
    /// Whether pages were looked up, without overflow.
    bool known() const { return looked_ && !overflowed_; }
    /// Calls `use` for each sample with an origin whose pages may be resident, as of the last look at the process. A
    /// sample after that look is Unknown.
    void each(const std::function<void(const Origin &origin, Residence residence)> &use) const;
    /// For each sampled page of the address space that the process had last: what the page's last sample stands for, by
    /// the address of the page. Pages that were absent at the last look are not there.
    std::map<std::uint64_t, Origin> pages(int pid) const;

  private:
    static constexpr std::uint64_t kIsFile = 1;
    struct Space {
        int pid = 0;  ///< of the last look; 0: there was none
        std::uint64_t from = 0, before = 0;
        std::unordered_map<std::uint64_t, std::uint64_t> owners;  ///< sample numbers, by page and kIsFile
        /// When a page was last found absent.
        struct Absence {
            std::uint64_t before = 0, t_ns = 0;  ///< of the look
        };
        std::unordered_map<std::uint64_t, Absence> absent;  ///< by address
        /// Numbers of samples that owned a page at the last look, and now another one does.
        std::vector<std::uint64_t> replaced;
    };
    struct Look {
        std::uint64_t mm = 0;
        std::uint64_t before = 0;  ///< AbsentPages::before
    };
    void overflow();
    void replace(Space &space, std::uint64_t &owner, std::uint64_t number);
    Residence residence(const Space &space, std::uint64_t mm, std::uint64_t number) const;
    std::map<std::uint64_t, std::uint64_t> last_owners(const Space &space, int pid) const;

    std::size_t most_;
    bool looked_ = false, overflowed_ = false;
    std::uint64_t moved_ = 0;                                           ///< owners that were visited for all moves
    std::unordered_map<std::uint64_t, std::optional<Origin>> origins_;  ///< by number, of owners and replaced ones
    std::unordered_map<std::uint64_t, Space> spaces_;                   ///< by mm
    std::unordered_map<int, Look> looks_;                               ///< the last ones, by PID
};

}  // namespace rsslag::profile
