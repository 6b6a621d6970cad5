// SPDX-License-Identifier: BSD-2-Clause
// `thread` scheme: in which order did updates of one counter happen, and was each a flush or a direct update?
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "rsslag/abi.h"
#include "rsslag/core/ledger.h"

namespace rsslag::core {

/// Why an update of this scheme went into the mm's counter.
FlushReason reason_of(const rsslag_update &update, bool flush);

/// Each record tells what the mm's counter was after its update, so that the updates form a chain; a flush also tells
/// its amount, which is what the task had cached. Records of two CPUs may be a little out of order by time: then the
/// chain decides. A direct update's amount is what the chain leaves for it.
class FlushChain {
  public:
    struct Link {
        rsslag_update update{};
        std::int64_t pages = 0;
        bool flush = false;        ///< else direct: the task's cache stays as it is
        std::uint64_t ticket = 0;  ///< as it was pushed
    };
    struct Waiting {
        rsslag_update update{};
        bool direct = false;  ///< for sure
        std::uint64_t ticket = 0;
    };

    /// Two CPUs' records may be this far out of order.
    static constexpr std::uint64_t kHorizonNs = 10'000;

    void reset(std::int64_t count);
    /// `direct`: surely no flush, whatever its numbers look like.
    void push(const rsslag_update &update, bool direct, std::vector<Link> &out, std::uint64_t ticket = 0);
    /// No record before `t_ns` will come.
    void advance(std::uint64_t t_ns, std::vector<Link> &out);
    /// All that is there, whatever may come.
    void finish(std::vector<Link> &out);
    bool waiting() const { return !waiting_.empty(); }
    /// The counter after the last update that was taken.
    std::int64_t count() const { return count_; }

  private:
    std::size_t choose() const;
    bool first_of_its_task(std::size_t index) const;
    void take(std::size_t index, std::vector<Link> &out);

    std::int64_t count_ = 0;
    std::uint64_t taken_ns_ = 0;  ///< time of the last update that was taken
    std::deque<Waiting> waiting_;
};

}  // namespace rsslag::core
