// SPDX-License-Identifier: BSD-2-Clause
// Changes a recording within its format: items come, go and change, and every check is made anew.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rsslag::fuzz {

/// As LLVMFuzzerCustomMutator(): what `data` is after it, at most `most` bytes.
std::size_t mutate_recording(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed);

}  // namespace rsslag::fuzz
