// SPDX-License-Identifier: BSD-2-Clause
#include "symbols.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/text.h"

namespace rsslag::unwind {

std::vector<core::StackFrame> named(const core::StackFrame &frame, const std::vector<SourceFrame> &functions) {
    constexpr std::size_t kMostName = 1000;  // names of C++ functions may be much longer
    std::vector<core::StackFrame> frames;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        core::StackFrame &one = frames.emplace_back(frame);
        one.function = functions[i].function.substr(0, kMostName);
        one.source = functions[i].file.substr(0, kMostName);
        one.line = functions[i].line;
        one.inlined = i + 1 < functions.size();
    }
    return frames;
}

core::Result<Symbols> Symbols::open(const std::string &directory, std::function<void(std::uint64_t)> opened) {
    struct stat about {};
    const int err = stat(directory.c_str(), &about) != 0 ? errno : S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
    if (err == 0) return Symbols(directory, std::move(opened));
    return core::Error{core::Kind::BadInput, fmt::format("{}: {}", core::printable(directory), std::strerror(err)), err,
                       "name a directory that contains BUILD-ID/debuginfo or BUILD-ID/executable"};
}

std::unique_ptr<CodeFile> Symbols::open_file(const core::BuildId &id, const char *name) {
    core::Fd file = open_in(directory_, fmt::format("{}/{}", core::hex(id), name));
    struct stat about {};
    if (!is_file_with(file, id) || fstat(file.get(), &about) != 0) return nullptr;
    opened_(static_cast<std::uint64_t>(about.st_size));
    auto code = std::make_unique<CodeFile>(std::move(file), std::vector<std::string>{"/"}, debug_bytes_left_);
    debug_bytes_left_ -= code->debug_bytes();
    opened_(code->debug_bytes());
    return code;
}

std::vector<core::StackFrame> Symbols::frames_of(const core::StackFrame &frame) {
    const auto [entry, is_new] = files_.try_emplace(frame.build_id);
    if (is_new) {
        for (const char *const name : {"debuginfo", "executable"})
            if (auto code = open_file(frame.build_id, name)) entry->second.push_back(std::move(code));
    }
    for (const std::unique_ptr<CodeFile> &code : entry->second) {
        const std::vector<SourceFrame> &functions = code->functions_at(frame.address);
        if (!functions.back().function.empty()) return unwind::named(frame, functions);
    }
    return {frame};
}

event::Stacks Symbols::named(const event::Stacks &stacks) {
    event::Stacks out{stacks.first, {}, {}, stacks.of, stacks.lost};
    std::vector<std::vector<std::uint32_t>> numbers;  // in `out`, of each frame of `stacks`
    for (const core::StackFrame &frame : stacks.frames) {
        const bool lacks_name = frame.function.empty() && frame.build_id.known();
        std::vector<std::uint32_t> &these = numbers.emplace_back();
        for (core::StackFrame &one : lacks_name ? frames_of(frame) : std::vector{frame}) {
            these.push_back(static_cast<std::uint32_t>(out.frames.size()));
            out.frames.push_back(std::move(one));
        }
    }
    for (const core::CallStack &stack : stacks.stacks) {
        core::CallStack &call = out.stacks.emplace_back();
        call.end = stack.end;
        for (const std::uint32_t number : stack.frames)
            call.frames.insert(call.frames.end(), numbers[number].begin(), numbers[number].end());
        for (const std::uint32_t number : stack.kernel)
            call.kernel.push_back(numbers[number].front());
        if (call.frames.size() <= core::kMostFrames) continue;
        call.frames.resize(core::kMostFrames);
        call.end = core::StackEnd::TooDeep;
    }
    return out;
}

}  // namespace rsslag::unwind
