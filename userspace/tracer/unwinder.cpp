// SPDX-License-Identifier: BSD-2-Clause
#include "unwinder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "rsslag/abi.h"
#include "unwind/code_file.h"
#include "unwind/kernel_symbols.h"
#include "unwind/perf_map.h"
#include "unwind/symbols.h"
#include "unwind/unwinder.h"

namespace rsslag::tracer {
namespace {

/// Entries of one event: a reader of a recording refuses items with many more (recording/bytes.h).
constexpr std::size_t kMostEntries = 100'000;
/// So many bytes of names count as an entry: a reader refuses items with more than 32 MiB (recording/names.h).
constexpr std::size_t kNameBytes = 256;

/// A mapping of code.
struct CodeRange {
    std::uint64_t end = 0, offset = 0;
    unwind::FileKey file;
    bool looked_up = false;
    unwind::CodeFile *code = nullptr;
    std::optional<std::uint64_t> bias;
};
using CodeMap = std::map<std::uint64_t, CodeRange>;  ///< by start

/// The registers of struct pt_regs by DWARF's numbers; from r15 to rdi.
constexpr std::array<std::size_t, 15> kDwarf{15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5};
constexpr std::size_t kIp = 16, kSp = 19;  ///< in rsslag_sample.registers

unwind::Registers registers_of(const rsslag_sample &sample) {
    unwind::Registers registers;
    for (std::size_t i = 0; i < kDwarf.size(); ++i)
        registers.set(kDwarf[i], sample.registers[i]);
    registers.set(unwind::kReturnAddress, sample.registers[kIp]);
    registers.set(unwind::kStackPointer, sample.registers[kSp]);
    return registers;
}

void remove(CodeMap &map, std::uint64_t start, std::uint64_t end) {
    auto at = map.upper_bound(start);
    if (at != map.begin() && std::prev(at)->second.end > start) --at;
    while (at != map.end() && at->first < end) {
        CodeRange rest = at->second;
        const std::uint64_t begin = at->first;
        at = map.erase(at);
        if (begin < start) {
            CodeRange before = rest;
            before.end = start;
            map.emplace(begin, std::move(before));
        }
        if (rest.end > end) {
            rest.offset += end - begin;
            rest.bias.reset();
            rest.looked_up = false;
            map.emplace(end, std::move(rest));
        }
    }
}

/// Whether the code is of no file. null: of no known mapping.
bool made_at_run_time(const CodeRange *range) {
    return range == nullptr || (range->code == nullptr && range->file.inode == 0 && !range->file.build_id.known());
}

void add(CodeMap &map, const core::MappedRange &range, const core::BuildId &id) {
    remove(map, range.start, range.end);
    if ((range.flags & core::MappingExecute) == 0) return;
    CodeRange code;
    code.end = range.end;
    code.offset = range.offset;
    code.file = {range.name, id, range.inode, range.device};
    map.emplace(range.start, std::move(code));
}

}  // namespace

struct Unwinder::State {
    /// By PID. Forks share the map of their parent until one of them changes it.
    std::unordered_map<int, std::shared_ptr<CodeMap>> maps;
    unwind::CodeFiles files;
    unwind::KernelSymbols kernel;
    /// The code of JITs, by PID. Read once in a batch at most.
    struct JitNames {
        unwind::PerfMap names;
        std::uint64_t batch = 0;
    };
    std::unordered_map<int, JitNames> jits;
    std::unordered_map<int, std::uint64_t> exec_ns;      ///< of the last exec, by PID
    std::unordered_map<int, std::size_t> execs_to_come;  ///< later in the batch, by PID
    std::uint64_t batches = 0;
    struct Copies {
        std::size_t all = 0, cut = 0;
        std::size_t bytes = 0;  ///< size of the last one that is cut
    };
    std::map<int, Copies> copies;  ///< of the current batch, by host TID
    std::size_t batch_bytes = 0;
    const core::SampleOptions options;
    std::size_t name_bytes = 0;  ///< of frames that are new in the event

    State(const core::SampleOptions &chosen, core::Fd kallsyms)
        : files(chosen.symbols), kernel(std::move(kallsyms)), options(chosen) {}

    /// The threads a quarter of whose stacks are cut. Larger copies take more space in the ring, so a few do not
    /// suffice.
    Cut take_cut() {
        constexpr std::size_t kTimes = 4;  // as a rule: core::stack_sizes()
        Cut cut;
        std::size_t bytes = std::exchange(batch_bytes, 0);
        for (const auto &[tid, of_thread] : std::exchange(copies, {})) {
            if (4 * of_thread.cut < of_thread.all || of_thread.cut == 0) continue;
            const std::size_t more = of_thread.all * of_thread.bytes * (kTimes - 1);
            if (bytes + more > options.ring_bytes / 2) continue;
            bytes += more;
            cut[tid] = of_thread.bytes;
        }
        return cut;
    }

    CodeMap &own_map(int pid);
    void apply(const core::MappingChange &change);
    void apply(const core::MappingListing &listing);
    void apply(const Fork &fork);
    CodeRange *range_at(int pid, std::uint64_t address);
    std::string jit_function_at(int pid, std::uint64_t address);
    using Frames = std::map<core::StackFrame, std::uint32_t>;  ///< their numbers in an event
    std::uint32_t number_of(core::StackFrame &&frame, event::Stacks &out, Frames &frames);
    core::CallStack unwound_in_user_mode(const rsslag_sample &sample, const RawSample &bytes, event::Stacks &out,
                                         Frames &frames);
    core::CallStack unwound(const RawSample &bytes, event::Stacks &out, Frames &frames);
    std::vector<event::Stacks> unwound(Batch batch);
};

/// To be changed: shared with no other process.
CodeMap &Unwinder::State::own_map(int pid) {
    std::shared_ptr<CodeMap> &map = maps[pid];
    if (map == nullptr || map.use_count() > 1)
        map = map == nullptr ? std::make_shared<CodeMap>() : std::make_shared<CodeMap>(*map);
    return *map;
}

void Unwinder::State::apply(const core::MappingChange &change) {
    using Kind = core::MappingChange::Kind;
    if (change.kind == Kind::Exec) {
        maps.erase(change.pid);
        jits.erase(change.pid);
        exec_ns[change.pid] = change.t_ns;
        execs_to_come[change.pid]--;
    }
    if (change.kind == Kind::Mapped) add(own_map(change.pid), change.range, change.build_id);
    if (change.kind == Kind::Moved) remove(own_map(change.pid), change.old_start, change.old_end);
}

void Unwinder::State::apply(const core::MappingListing &listing) {
    const auto map = std::make_shared<CodeMap>();
    for (const core::MappingListing::Entry &entry : listing.entries)
        add(*map, entry.range, {});
    maps[listing.pid] = map;
}

void Unwinder::State::apply(const Fork &fork) {
    if (const auto parent = maps.find(fork.parent); parent != maps.end()) {
        const std::shared_ptr<CodeMap> map = parent->second;
        maps[fork.child] = map;
    }
}

CodeRange *Unwinder::State::range_at(int pid, std::uint64_t address) {
    const auto found = maps.find(pid);
    if (found == maps.end()) return nullptr;
    CodeMap &map = *found->second;
    auto at = map.upper_bound(address);
    if (at == map.begin() || (--at)->second.end <= address) return nullptr;
    CodeRange &range = at->second;
    if (!std::exchange(range.looked_up, true)) {
        range.code = files.find(range.file, pid);
        if (range.code != nullptr) range.bias = range.code->bias(at->first, range.offset);
    }
    return &range;
}

/// What was written after the sample may be read with it: a JIT may have put another function at its address since.
/// If the process runs another program by now, only what was read before has names.
std::string Unwinder::State::jit_function_at(int pid, std::uint64_t address) {
    auto found = jits.find(pid);
    if (found == jits.end()) {
        const auto exec = exec_ns.find(pid);
        const std::uint64_t since_ns = exec == exec_ns.end() ? 0 : exec->second;
        found = jits.emplace(pid, JitNames{unwind::PerfMap::of(pid, since_ns), 0}).first;
    }
    const auto to_come = execs_to_come.find(pid);
    const bool runs = to_come == execs_to_come.end() || to_come->second == 0;
    if (runs && std::exchange(found->second.batch, batches) != batches) found->second.names.update();
    return found->second.names.function_at(address);
}

/// The number of the frame in the event.
std::uint32_t Unwinder::State::number_of(core::StackFrame &&frame, event::Stacks &out, Frames &frames) {
    const auto [found, is_new] = frames.try_emplace(frame, static_cast<std::uint32_t>(out.frames.size()));
    if (is_new) {
        name_bytes += frame.function.size() + frame.file.size() + frame.source.size();
        out.frames.push_back(std::move(frame));
    }
    return found->second;
}

core::CallStack Unwinder::State::unwound(const RawSample &bytes, event::Stacks &out, Frames &frames) {
    rsslag_sample sample{};
    if (bytes.size() < sizeof(sample)) return {{}, core::StackEnd::Dropped};
    std::memcpy(&sample, bytes.data(), sizeof(sample));
    core::CallStack call = unwound_in_user_mode(sample, bytes, out, frames);
    const std::size_t count = std::min<std::size_t>(sample.kernel_frames, RSSLAG_KERNEL_FRAMES);
    for (core::StackFrame &frame : kernel.frames_of({std::begin(sample.kernel), count}))
        call.kernel.push_back(number_of(std::move(frame), out, frames));
    return call;
}

core::CallStack Unwinder::State::unwound_in_user_mode(const rsslag_sample &sample, const RawSample &bytes,
                                                      event::Stacks &out, Frames &frames) {
    const std::size_t copied = std::min<std::size_t>(sample.copied, bytes.size() - sizeof(sample));
    const std::size_t absent = std::min<std::size_t>(sample.absent, copied);
    const unwind::StackCopy copy{sample.registers[kSp] + absent,
                                 std::span(bytes).subspan(sizeof(sample) + absent, copied - absent)};
    const int pid = sample.ns_tgid;
    if (sample.registers[kIp] == 0) return {{}, core::StackEnd::NoCopy};
    const unwind::Stack stack = unwind::unwind(
        registers_of(sample), copy,
        [&](std::uint64_t at) -> std::optional<unwind::Code> {
            const CodeRange *const range = range_at(pid, at);
            if (made_at_run_time(range) && jit_function_at(pid, at).starts_with("py::"))
                return unwind::Code{nullptr, 0, true};
            if (range == nullptr || !range->bias) return std::nullopt;
            return unwind::Code{range->code->rules(), *range->bias};
        },
        options.unwind);
    Copies &of_thread = copies[sample.tid];
    of_thread.all++;
    batch_bytes += bytes.size();
    if (stack.end == core::StackEnd::Cut && copied + 4096 > sample.bytes) {  // it may lack the rest of its last page
        of_thread.cut++;
        of_thread.bytes = sample.bytes;
    }
    core::CallStack call;
    const bool unread = (copied == absent && stack.end == core::StackEnd::Cut) ||
                        (absent > 0 && stack.end == core::StackEnd::NoRules && stack.frames.size() == 1);
    call.end = unread ? core::StackEnd::NoCopy : stack.end;
    const auto put = [&](core::StackFrame &&named) {
        if (call.frames.size() == core::kMostFrames) {
            call.end = core::StackEnd::TooDeep;
            return;
        }
        call.frames.push_back(number_of(std::move(named), out, frames));
    };
    for (const unwind::Frame &frame : stack.frames) {
        core::StackFrame named;
        named.address = frame.instruction();
        CodeRange *const range = range_at(pid, frame.instruction());
        if (made_at_run_time(range)) named.function = jit_function_at(pid, frame.instruction());
        if (range != nullptr) {
            named.file = range->file.path;
            named.build_id = range->file.build_id;
            if (range->bias) {
                named.address -= *range->bias;
                named.build_id = range->code->build_id();
                if (options.symbols) {
                    for (core::StackFrame &one : unwind::named(named, range->code->functions_at(named.address)))
                        put(std::move(one));
                    continue;
                }
            }
        }
        put(std::move(named));
    }
    return call;
}

std::vector<event::Stacks> Unwinder::State::unwound(Batch batch) {
    std::vector<event::Stacks> all;
    Frames frames;
    std::map<core::CallStack, std::uint32_t> stacks;
    std::size_t entries = kMostEntries;
    ++batches;
    for (const core::MappingListing &listing : batch.listings)
        apply(listing);
    execs_to_come.clear();
    for (const core::MappingChange &each : batch.changes)
        if (each.kind == core::MappingChange::Kind::Exec) execs_to_come[each.pid]++;
    auto change = batch.changes.begin();
    auto fork = batch.forks.begin();
    const auto apply_forks_until = [&](std::uint64_t t_ns) {
        for (; fork != batch.forks.end() && fork->t_ns <= t_ns; ++fork)
            apply(*fork);
    };
    const auto apply_until = [&](std::uint64_t t_ns) {
        for (; change != batch.changes.end() && change->t_ns <= t_ns; ++change) {
            apply_forks_until(change->t_ns);
            apply(*change);
        }
        apply_forks_until(t_ns);
    };
    for (const RawSample &bytes : batch.samples) {
        if (entries >= kMostEntries) {
            entries = 0;
            frames.clear();
            stacks.clear();
            const std::uint64_t first = all.empty() ? batch.first : all.back().first + all.back().of.size();
            all.emplace_back().first = first;
            all.back().lost = batch.lost;
        }
        event::Stacks &out = all.back();
        std::uint64_t t_ns = 0;
        if (bytes.size() >= sizeof(rsslag_sample))
            std::memcpy(&t_ns, bytes.data() + offsetof(rsslag_sample, t_ns), sizeof(t_ns));
        apply_until(t_ns);
        core::CallStack stack = unwound(bytes, out, frames);
        const auto [found, is_new] = stacks.try_emplace(stack, static_cast<std::uint32_t>(out.stacks.size()));
        entries += 1 + (is_new ? 2 * (stack.frames.size() + stack.kernel.size()) : 0) +
                   std::exchange(name_bytes, 0) / kNameBytes;
        if (is_new) out.stacks.push_back(std::move(stack));
        out.of.push_back(found->second);
    }
    apply_until(UINT64_MAX);
    for (const int pid : batch.ended) {
        maps.erase(pid);
        jits.erase(pid);
        exec_ns.erase(pid);
    }
    return all;
}

Unwinder::Unwinder(const core::SampleOptions &options, core::Fd kallsyms)
    : state_(std::make_unique<State>(options, std::move(kallsyms))) {}
Unwinder::~Unwinder() = default;

Unwinder::Result Unwinder::unwound(Batch batch) {
    std::vector<event::Stacks> stacks = state_->unwound(std::move(batch));
    return {std::move(stacks), state_->take_cut()};
}

}  // namespace rsslag::tracer
