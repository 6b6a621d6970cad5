// SPDX-License-Identifier: BSD-2-Clause
// The field numbers and values of Perfetto's trace format that the sink writes.
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

namespace rsslag::exporters::field {

using Tag = protozero::pbf_tag_type;

// Trace
inline constexpr Tag kPacket = 1;

// TracePacket
inline constexpr Tag kTimestamp = 8;
inline constexpr Tag kTrustedPacketSequenceId = 10;
inline constexpr Tag kTrackEvent = 11;
inline constexpr Tag kSequenceFlags = 13;
inline constexpr Tag kTrackDescriptor = 60;
inline constexpr Tag kFirstPacketOnSequence = 87;
inline constexpr std::uint32_t kIncrementalStateCleared = 1;  // SEQ_INCREMENTAL_STATE_CLEARED

// TrackDescriptor
inline constexpr Tag kUuid = 1;
inline constexpr Tag kTrackName = 2;
inline constexpr Tag kProcess = 3;
inline constexpr Tag kThread = 4;
inline constexpr Tag kParentUuid = 5;
inline constexpr Tag kCounter = 8;

// ProcessDescriptor, ThreadDescriptor
inline constexpr Tag kProcessPid = 1;
inline constexpr Tag kProcessName = 6;
inline constexpr Tag kThreadPid = 1;
inline constexpr Tag kThreadTid = 2;
inline constexpr Tag kThreadName = 5;

// CounterDescriptor
inline constexpr Tag kCounterUnit = 3;
inline constexpr std::int32_t kSizeBytes = 3;  // UNIT_SIZE_BYTES

// TrackEvent
inline constexpr Tag kDebugAnnotations = 4;
inline constexpr Tag kEventType = 9;
inline constexpr Tag kTrackUuid = 11;
inline constexpr Tag kEventName = 23;
inline constexpr Tag kCounterValue = 30;
inline constexpr std::int32_t kTypeInstant = 3;
inline constexpr std::int32_t kTypeCounter = 4;

// DebugAnnotation
inline constexpr Tag kAnnotationInt = 4;
inline constexpr Tag kAnnotationName = 10;

}  // namespace rsslag::exporters::field
