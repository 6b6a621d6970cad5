// SPDX-License-Identifier: BSD-2-Clause
// The comparison of an mm's counters with readings.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace rsslag::core {

/// Compares readings of an mm with all values that its counters had meanwhile.
///
/// A counter may have many values while it is read, so the values are kept from watch() to end_watch(). If no record
/// explains a value that was read, this is only a suspicion at first. The record may still come, because the CPU may
/// have been interrupted or stolen between the update and its record. A suspicion ends when a record or a reading
/// explains the value. Cells are those of MmCounters.
class MmCheck {
  public:
    /// Starts to keep the history of these cells. Those that are added later had the value 0.
    void watch(std::vector<std::int64_t> cells);
    void end_watch();
    bool watched() const { return watched_; }
    /// To be called when a cell has a new value. `sum`: it is from a sum, so earlier values and the time of the change
    /// are unknown.
    void held(std::uint32_t cell, std::uint64_t t_ns, std::int64_t value, bool sum);
    /// A record with this value explains what an earlier reading found.
    void explain(std::uint32_t cell, std::int64_t value);

    struct Comparison {
        std::vector<std::int64_t> off;  ///< by cell: the distance to the nearest of its values; 0 if these are unknown
        std::vector<bool> changed;      ///< by cell
        bool quiet = true;              ///< no cell changed
    };
    /// Compares the cells, read between these times, with all values that each had from 1 ms before the reading to 1 ms
    /// after it. The reading may have found any of these. To be called between watch() and end_watch().
    Comparison compare(const std::vector<std::int64_t> &read, std::uint64_t begin_ns, std::uint64_t end_ns) const;

    /// Whether a reading already differed there so long ago that no record will explain it.
    bool confirms(std::uint32_t cell, std::uint64_t read_ns) const;
    void suspect(std::uint32_t cell, std::uint64_t read_ns, std::int64_t value);
    /// To be called when the cell agrees with a reading.
    void agrees(std::uint32_t cell);
    /// To be called when the next reading will replace the counters.
    void forget() {
        suspicions_.clear();
        by_time_.clear();
    }
    /// To be called when no more records will explain what readings found. Returns the number of cells that differed,
    /// each once, however many readings differed there.
    std::uint64_t give_up();
    bool suspects() const { return !suspicions_.empty(); }

  private:
    using Suspicions = std::map<std::pair<std::uint32_t, std::int64_t>, std::uint64_t>;
    Suspicions::iterator end(Suspicions::iterator suspicion);

    struct Change {
        std::uint64_t t_ns;
        std::uint32_t cell;
        std::int64_t value;
        bool sum;
    };

    /// By cell and value: when a reading first had this value, which no record explains yet.
    Suspicions suspicions_;
    /// The same, as cell, time and value.
    std::set<std::tuple<std::uint32_t, std::uint64_t, std::int64_t>> by_time_;
    bool watched_ = false;
    std::vector<std::int64_t> watched_from_;  ///< by cell
    std::vector<Change> changes_;
};

}  // namespace rsslag::core
