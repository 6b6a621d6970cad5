// SPDX-License-Identifier: BSD-2-Clause
// The field numbers and values of Perfetto's heap profiles that are written.
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

namespace rsslag::profile::perfetto_field {

using Tag = protozero::pbf_tag_type;

// Trace and TracePacket
inline constexpr Tag kPacket = 1;
inline constexpr Tag kClockSnapshot = 6;
inline constexpr Tag kTimestamp = 8;
inline constexpr Tag kTrustedPacketSequenceId = 10;
inline constexpr Tag kProfilePacket = 37;

// ClockSnapshot, and its Clock
inline constexpr Tag kClocks = 1;
inline constexpr Tag kClockId = 1;
inline constexpr Tag kClockTimestamp = 2;
inline constexpr std::uint32_t kMonotonicCoarse = 4;  // BUILTIN_CLOCK_MONOTONIC_COARSE, the clock of heap profiles
inline constexpr std::uint32_t kBoottime = 6;         // BUILTIN_CLOCK_BOOTTIME, the clock of traces

// ProfilePacket
inline constexpr Tag kStrings = 1;
inline constexpr Tag kFrames = 2;
inline constexpr Tag kCallstacks = 3;
inline constexpr Tag kMappings = 4;
inline constexpr Tag kProcessDumps = 5;

// InternedString, Mapping, Frame and Callstack
inline constexpr Tag kIid = 1;
inline constexpr Tag kString = 2;
inline constexpr Tag kBuildId = 2;
inline constexpr Tag kEnd = 5;
inline constexpr Tag kPathStringIds = 7;
inline constexpr Tag kFunctionNameId = 2;
inline constexpr Tag kMappingId = 3;
inline constexpr Tag kRelativePc = 4;
inline constexpr Tag kFrameIds = 2;

// ProcessHeapSamples
inline constexpr Tag kPid = 1;
inline constexpr Tag kSamples = 2;
inline constexpr Tag kDumpTimestamp = 9;
inline constexpr Tag kHeapName = 11;
inline constexpr Tag kSamplingIntervalBytes = 12;

// HeapSample
inline constexpr Tag kCallstackId = 1;
inline constexpr Tag kSelfAllocated = 2;
inline constexpr Tag kAllocCount = 5;

}  // namespace rsslag::profile::perfetto_field
