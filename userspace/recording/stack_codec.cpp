// SPDX-License-Identifier: BSD-2-Clause
#include "stack_codec.h"

#include <algorithm>
#include <utility>

#include "names.h"

namespace rsslag::recording {
namespace {

using core::CallStack;
using core::Sample;
using core::StackFrame;

std::int64_t difference(std::uint64_t after, std::uint64_t before) {
    return static_cast<std::int64_t>(after - before);
}

std::uint64_t sum(std::uint64_t before, std::int64_t more) {
    return before + static_cast<std::uint64_t>(more);
}

bool has_source(const StackFrame &frame) {
    return !frame.source.empty() || frame.line != 0 || frame.inlined;
}

std::string bytes_of(const core::BuildId &id) {
    return {id.bytes.begin(), id.bytes.begin() + id.size};
}

void put_frames(Bytes &out, const std::vector<std::uint32_t> &frames) {
    put(out, frames.size());
    for (const std::uint32_t frame : frames)
        put(out, frame);
}

/// Numbers below `all`.
std::vector<std::uint32_t> read_frames(ByteReader &in, std::size_t all) {
    std::vector<std::uint32_t> frames;
    const std::size_t length = in.count();
    if (length > core::kMostFrames) in.fail();
    for (std::size_t i = 0; i < length && !in.bad(); ++i) {
        const std::uint64_t frame = in.number();
        if (frame >= all) in.fail();
        frames.push_back(static_cast<std::uint32_t>(frame));
    }
    return frames;
}

}  // namespace

void put_samples(Bytes &out, const event::Samples &event, std::uint64_t base_ns) {
    put(out, event.first);
    put(out, event.samples.size());
    Sample before;
    before.t_ns = base_ns;
    for (const Sample &sample : event.samples) {
        put_signed(out, difference(sample.t_ns, before.t_ns));
        put_signed(out, std::int64_t{sample.host_tid} - before.host_tid);
        put_signed(out, std::int64_t{sample.pid} - before.pid);
        put_signed(out, difference(sample.mm, before.mm));
        put_signed(out, difference(sample.address, before.address));
        put(out, sample.cpu);
        put(out, sample.member);
        put_signed(out, sample.estimated);
        put_signed(out, sample.syscall);
        before = sample;
    }
}

event::Samples read_samples(ByteReader &in, std::uint64_t base_ns) {
    event::Samples event;
    event.first = in.number();
    const std::size_t count = in.count();
    Sample sample;
    sample.t_ns = base_ns;
    for (std::size_t i = 0; i < count && !in.bad(); ++i) {
        sample.t_ns = sum(sample.t_ns, in.signed_number());
        sample.host_tid = static_cast<int>(static_cast<std::uint32_t>(sample.host_tid) +
                                           static_cast<std::uint32_t>(in.signed_number()));
        sample.pid =
            static_cast<int>(static_cast<std::uint32_t>(sample.pid) + static_cast<std::uint32_t>(in.signed_number()));
        sample.mm = sum(sample.mm, in.signed_number());
        sample.address = sum(sample.address, in.signed_number());
        sample.cpu = static_cast<std::uint16_t>(in.number());
        sample.member = static_cast<std::uint8_t>(in.number());
        sample.estimated = static_cast<std::int32_t>(in.signed_number());
        sample.syscall = static_cast<std::int32_t>(in.signed_number());
        if (!in.bad()) event.samples.push_back(sample);
    }
    return event;
}

void put_stacks(Bytes &out, const event::Stacks &event) {
    Names names;
    Bytes body;
    std::uint64_t address = 0;
    put(body, event.frames.size());
    for (const StackFrame &frame : event.frames) {
        put(body, names.number_of(frame.function));
        put(body, names.number_of(frame.file));
        put(body, names.number_of(bytes_of(frame.build_id)));
        put_signed(body, difference(frame.address, std::exchange(address, frame.address)));
    }
    put(body, event.stacks.size());
    for (const CallStack &stack : event.stacks) {
        put(body, static_cast<std::uint64_t>(stack.end));
        put_frames(body, stack.frames);
    }
    put(body, event.of.size());
    for (const std::uint32_t stack : event.of)
        put(body, stack);
    const bool of_kernel = std::any_of(event.stacks.begin(), event.stacks.end(),
                                       [](const CallStack &stack) { return !stack.kernel.empty(); });
    if (of_kernel || std::any_of(event.frames.begin(), event.frames.end(), has_source)) {
        for (const StackFrame &frame : event.frames) {
            put(body, names.number_of(frame.source));
            put(body, std::uint64_t{frame.line} << 1 | std::uint64_t{frame.inlined});
        }
    }
    if (of_kernel) {
        for (const CallStack &stack : event.stacks)
            put_frames(body, stack.kernel);
    }
    put(out, event.first);
    put(out, event.lost);
    names.put_all(out);
    out += body;
}

event::Stacks read_stacks(ByteReader &in) {
    event::Stacks event;
    event.first = in.number();
    event.lost = in.number();
    ReadNames names(in);
    std::uint64_t address = 0;
    const std::size_t frames = in.count();
    for (std::size_t i = 0; i < frames && !in.bad(); ++i) {
        StackFrame &frame = event.frames.emplace_back();
        frame.function = names.take(in);
        frame.file = names.take(in);
        const std::string id = names.take(in);
        frame.build_id.size = static_cast<std::uint8_t>(std::min(id.size(), core::BuildId::kMost));
        std::copy_n(id.begin(), frame.build_id.size, frame.build_id.bytes.begin());
        frame.address = address = sum(address, in.signed_number());
    }
    const std::size_t stacks = in.count();
    for (std::size_t i = 0; i < stacks && !in.bad(); ++i) {
        CallStack &stack = event.stacks.emplace_back();
        stack.end = static_cast<core::StackEnd>(std::min<std::uint64_t>(in.number(), core::kStackEnds - 1));
        stack.frames = read_frames(in, event.frames.size());
    }
    const std::size_t count = in.count();
    for (std::size_t i = 0; i < count && !in.bad(); ++i) {
        const std::uint64_t stack = in.number();
        if (stack >= event.stacks.size()) in.fail();
        event.of.push_back(static_cast<std::uint32_t>(stack));
    }
    if (in.at_end()) return event;
    for (StackFrame &frame : event.frames) {
        frame.source = names.take(in);
        const std::uint64_t line = in.number();
        frame.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(line >> 1, UINT32_MAX));
        frame.inlined = (line & 1) != 0;
    }
    if (in.at_end()) return event;
    for (CallStack &stack : event.stacks)
        stack.kernel = read_frames(in, event.frames.size());
    return event;
}

void put_absent_pages(Bytes &out, const event::AbsentPages &event) {
    put_signed(out, event.pid);
    put(out, event.mm);
    put(out, event.from);
    put(out, event.before);
    put(out, event.pages.size());
    std::uint64_t before = 0;
    for (const std::uint64_t page : event.pages)
        put(out, page - std::exchange(before, page));
}

event::AbsentPages read_absent_pages(ByteReader &in, std::uint64_t t_ns) {
    event::AbsentPages event;
    event.t_ns = t_ns;
    event.pid = in.small();
    event.mm = in.number();
    event.from = in.number();
    event.before = in.number();
    const std::size_t count = in.count();
    std::uint64_t page = 0;
    for (std::size_t i = 0; i < count && !in.bad(); ++i)
        event.pages.push_back(page += in.number());
    return event;
}

}  // namespace rsslag::recording
