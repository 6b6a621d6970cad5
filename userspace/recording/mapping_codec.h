// SPDX-License-Identifier: BSD-2-Clause
// Bodies of items 23 and 24: changes of mappings, and all mappings at one moment.
#pragma once

#include <cstdint>

#include "bytes.h"
#include "core/event.h"

namespace rsslag::recording {

void put_mapping_changes(Bytes &out, const event::MappingChanges &changes, std::uint64_t base_ns);
event::MappingChanges read_mapping_changes(ByteReader &in, std::uint64_t base_ns);

void put_mapping_listing(Bytes &out, const event::MappingListing &listing, std::uint64_t base_ns);
event::MappingListing read_mapping_listing(ByteReader &in, std::uint64_t base_ns);

}  // namespace rsslag::recording
