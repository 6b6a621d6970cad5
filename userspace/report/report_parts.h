// SPDX-License-Identifier: BSD-2-Clause
// What text, JSON and assertions of a report have in common.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/report/report.h"

namespace rsslag::report {

inline constexpr std::array<core::Verdict, 5> kAllVerdicts{core::Verdict::Agrees, core::Verdict::Explained,
                                                           core::Verdict::Moving, core::Verdict::Unexplained,
                                                           core::Verdict::Unwalked};

/// Every verdict that there is, also at 0.
template <class Object>
Object verdict_counts(const std::map<std::string, std::uint64_t> &counts) {
    Object object;
    for (const core::Verdict verdict : kAllVerdicts) {
        const auto found = counts.find(std::string(core::name(verdict)));
        object[std::string(core::name(verdict))] = found == counts.end() ? 0 : found->second;
    }
    return object;
}

/// One number about the whole recording, by which two can be compared and of which --assert can demand something.
struct Figure {
    enum class Unit : std::uint8_t { Pages, Nanoseconds, Count };
    std::string_view name;
    Unit unit = Unit::Count;
    std::optional<std::int64_t> value;  ///< nullopt: not known
    bool approximate = false;
};

/// The same names in the same order for every report.
std::vector<Figure> figures(const Report &report);

}  // namespace rsslag::report
