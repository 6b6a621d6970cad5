// SPDX-License-Identifier: BSD-2-Clause
// Samples and stacks as bodies of items; docs/format.md has their form.
#pragma once

#include <cstdint>

#include "bytes.h"
#include "core/event.h"

namespace rsslag::recording {

void put_samples(Bytes &out, const event::Samples &event, std::uint64_t base_ns);
event::Samples read_samples(ByteReader &in, std::uint64_t base_ns);
void put_stacks(Bytes &out, const event::Stacks &event);
event::Stacks read_stacks(ByteReader &in);
/// Without its time.
void put_absent_pages(Bytes &out, const event::AbsentPages &event);
event::AbsentPages read_absent_pages(ByteReader &in, std::uint64_t t_ns);

}  // namespace rsslag::recording
