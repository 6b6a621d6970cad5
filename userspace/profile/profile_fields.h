// SPDX-License-Identifier: BSD-2-Clause
// The field numbers of pprof's profile.proto that are written.
#pragma once

#include <protozero/types.hpp>

namespace rsslag::profile::field {

using Tag = protozero::pbf_tag_type;

// Profile
inline constexpr Tag kSampleType = 1;
inline constexpr Tag kSample = 2;
inline constexpr Tag kMapping = 3;
inline constexpr Tag kLocation = 4;
inline constexpr Tag kFunction = 5;
inline constexpr Tag kStringTable = 6;
inline constexpr Tag kTimeNanos = 9;
inline constexpr Tag kPeriodType = 11;
inline constexpr Tag kPeriod = 12;
inline constexpr Tag kComment = 13;
inline constexpr Tag kDefaultSampleType = 14;

// ValueType
inline constexpr Tag kType = 1;
inline constexpr Tag kUnit = 2;

// Sample
inline constexpr Tag kLocationId = 1;
inline constexpr Tag kValue = 2;
inline constexpr Tag kLabel = 3;

// Label
inline constexpr Tag kKey = 1;
inline constexpr Tag kStr = 2;
inline constexpr Tag kNum = 3;

// Mapping, Location and Function
inline constexpr Tag kId = 1;
inline constexpr Tag kMemoryLimit = 3;
inline constexpr Tag kFilename = 5;
inline constexpr Tag kBuildId = 6;
inline constexpr Tag kHasFunctions = 7;
inline constexpr Tag kMappingId = 2;
inline constexpr Tag kAddress = 3;
inline constexpr Tag kLine = 4;
inline constexpr Tag kName = 2;
inline constexpr Tag kSystemName = 3;
inline constexpr Tag kSourceFile = 4;

// Line
inline constexpr Tag kFunctionId = 1;
inline constexpr Tag kLineNumber = 2;

}  // namespace rsslag::profile::field
