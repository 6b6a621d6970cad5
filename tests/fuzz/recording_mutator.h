// SPDX-License-Identifier: BSD-2-Clause
// Changes a recording within its format: adds, removes and changes items, and computes all checksums again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rsslag::fuzz {

/// As LLVMFuzzerCustomMutator(). Returns the new size of `data`, which is at most `most` bytes.
std::size_t mutate_recording(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed);

}  // namespace rsslag::fuzz
