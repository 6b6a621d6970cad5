// SPDX-License-Identifier: BSD-2-Clause
#include "pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <vector>

#include "workload/failure.h"
#include "workload/proc_text.h"
#include "workload/temp_file.h"

namespace rsslag::workload {
namespace {

/// The range in the first line of a mapping: "7f00-7f10 rw-p …".
struct Range {
    std::uintptr_t from = 0, to = 0;
};
std::optional<Range> mapping_range(std::string_view line) {
    Range range;
    const char *const end = line.data() + line.size();
    const auto from = std::from_chars(line.data(), end, range.from, 16);
    if (from.ec != std::errc{} || from.ptr == end || *from.ptr != '-') return std::nullopt;
    const auto to = std::from_chars(from.ptr + 1, end, range.to, 16);
    if (to.ec != std::errc{} || to.ptr == end || *to.ptr != ' ') return std::nullopt;
    return range;
}

}  // namespace

std::size_t half_of(Memory memory) {
    return memory.size() / page_size() / 2 * page_size();
}

void read_pages(Memory memory) {
    for (std::size_t at = 0; at < memory.size(); at += page_size()) {
        [[maybe_unused]] const std::byte seen = *static_cast<volatile std::byte *>(&memory[at]);
    }
}

core::Result<Fd> filled_file(std::size_t bytes) {
    auto fd = writable_file(bytes);
    if (!fd) return fd;
    const std::vector<std::byte> block(std::min<std::size_t>(bytes, 1 << 20), std::byte{0x5a});
    for (std::size_t at = 0; at < bytes;) {
        const ssize_t put = pwrite(fd->get(), block.data(), std::min(block.size(), bytes - at), static_cast<off_t>(at));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return failed("pwrite", errno);
        at += static_cast<std::size_t>(put);
    }
    return fd;
}

core::Status write_text(const std::string &path, std::string_view text) {
    const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.open()) return failed("cannot open " + path, errno);
    if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return failed("cannot write " + path, errno);
    }
    return core::success();
}

core::Result<std::int64_t> smaps_kb(Memory memory, std::string_view label) {
    auto smaps = read_text("/proc/self/smaps");
    if (!smaps) return smaps.error();
    const auto from = reinterpret_cast<std::uintptr_t>(memory.data());
    bool inside = false;
    std::int64_t sum = 0;
    for (std::string_view rest = *smaps; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (const auto range = mapping_range(line)) {
            inside = range->from < from + memory.size() && range->to > from;
        } else if (inside) {
            sum += labelled_kb(line, label).value_or(0);
        }
    }
    return sum;
}

}  // namespace rsslag::workload
