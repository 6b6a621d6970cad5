// SPDX-License-Identifier: BSD-2-Clause
// An earlier rsslag.maps/1 document, with which a new reading is compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/assertion.h"
#include "core/result.h"
#include "procfs/memory_map.h"

namespace rsslag::memory {

/// One process of the document.
struct Baseline {
    int pid = 0;
    std::string comm;  ///< as printed in the document
    procfs::MapSums sums;
    std::vector<procfs::MapGroup> groups;  ///< names as printed in the document
};

/// All processes of the last document in `text`. Kind::Corrupt if it is not rsslag.maps/1.
core::Result<std::vector<Baseline>> read_baselines(std::string_view text);

/// read_baselines() of a file. Kind::BadInput if it cannot be read.
core::Result<std::vector<Baseline>> read_baseline_file(const std::string &path);

/// The process of the document to compare with. If the document has one process, it is this one. Otherwise it is the
/// process with this PID and comm, else the only one with this comm; nullptr if there is none.
const Baseline *baseline_of(const std::vector<Baseline> &all, int pid, std::string_view comm);

/// The sum with this name: a key of .sums without _kb, or `shared` or `private`, each clean + dirty. nullopt if there
/// is no such sum.
std::optional<core::Kilobytes> named_sum(const procfs::MapSums &sums, std::string_view name);
/// The names that named_sum() accepts, for error messages: "size, rss, ...".
std::string sum_names();

/// core::parse_assertions() for these sums, each of which may have .growth. The text of a single assertion keeps its
/// blanks.
core::Result<std::vector<core::Assertion>> parse_assertions(std::string_view text);

/// An assertion and its result. `holds` is nullopt if it is about growth and there is no baseline, or if the sum is an
/// upper bound and a smaller amount would have another result.
struct Asserted {
    core::Assertion assertion;
    std::optional<bool> holds;
    std::optional<core::Kilobytes> value;  ///< a size or its growth
    std::optional<double> compared;  ///< the value in the unit of the limit; infinite for growth from 0 in percent
    bool at_most = false;            ///< the size is an upper bound
};
/// Evaluates an assertion. `before` is nullptr if there is no baseline.
Asserted evaluate(const core::Assertion &assertion, const procfs::MapSums &now, const Baseline *before);

}  // namespace rsslag::memory
