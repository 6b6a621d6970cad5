// SPDX-License-Identifier: BSD-2-Clause
// The stacks by which the resident pages of a process came, from a recording with samples of page faults (--stacks).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/samples.h"
#include "procfs/memory_map.h"
#include "procfs/process.h"

namespace rsslag::memory {

struct MappedProcess;

using core::SampledPage;

/// What a recording of this boot contains about the processes that were asked for.
struct SampledRecording {
    std::string file;                           ///< its path
    std::uint32_t period = 0;                   ///< pages to a sample, on average
    std::chrono::system_clock::time_point end;  ///< of its last row
    std::uint64_t lost = 0;                     ///< samples for which the ring had no space
    bool complete = true;                       ///< no record was lost, and no part of the file is missing
    /// The names of the functions of each stack, raw bytes, the innermost first.
    std::vector<std::vector<std::string>> stacks;
    struct Process {
        std::uint64_t start_ticks = 0;  ///< since the boot
        std::vector<SampledPage> pages;
    };
    std::map<int, Process> processes;  ///< by PID
};

/// The stack by which most of the resident sampled pages of a row came.
struct TopStack {
    std::size_t stack = 0;  ///< index of SampledRecording::stacks
    double share = 0;       ///< of the pages that the resident samples of the row stand for
};

/// The top stacks of the rows of a process.
struct RowStacks {
    std::shared_ptr<const SampledRecording> recording;
    std::vector<SampledPage> resident;
    std::vector<std::optional<TopStack>> groups, mappings;  ///< by index of those of MappedProcess
};

/// Those sampled pages of the process that are present, and whose mapping has the name that it had at the fault. So
/// pages of a program that an exec has replaced do not count. Kind::Unsupported with the reason if the recording has no
/// samples of this process; else errors as procfs::absent_pages().
core::Result<RowStacks> resident_samples(const procfs::Process &process, const MappedProcess &mapped,
                                         std::shared_ptr<const SampledRecording> recording);

/// Whether a mapping may be the one that had this name at the fault. All guesses from the shape of anonymous memory
/// are one name, as a guess may change. Pure.
bool may_be(const procfs::Mapping &mapping, const std::string &name_at_fault);

/// Sets the top stacks of `groups` and `mappings`, which may be in any order. Pure.
void find_top_stacks(RowStacks &stacks, const std::vector<procfs::MapGroup> &groups,
                     const std::vector<procfs::Mapping> &mappings);

/// "60 % by parse_json < load < main". Raw bytes.
std::string most_by(const RowStacks &stacks, const TopStack &top);

}  // namespace rsslag::memory
