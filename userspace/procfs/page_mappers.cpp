// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/page_mappers.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "procfs/elf.h"

namespace rsslag::procfs {

namespace {

/// Maps each of some pages of a file many times.
class ManyMappings {
  public:
    ManyMappings(const Fd &file, const std::set<std::uint64_t> &offsets, std::size_t page_bytes, std::uint64_t times)
        : page_bytes_(page_bytes) {
        for (const std::uint64_t offset : offsets) {
            for (std::uint64_t i = 0; i < times && complete_; ++i) {
                void *const at = mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(),
                                      static_cast<off_t>(offset));
                complete_ = at != MAP_FAILED;
                if (complete_) mapped_.push_back(at);
            }
        }
    }
    ~ManyMappings() {
        for (void *const at : mapped_)
            munmap(at, page_bytes_);
    }
    ManyMappings(const ManyMappings &) = delete;
    ManyMappings &operator=(const ManyMappings &) = delete;

    bool complete() const { return complete_; }

  private:
    std::size_t page_bytes_;
    std::vector<void *> mapped_;
    bool complete_ = true;
};

}  // namespace

std::map<std::uint64_t, std::uint64_t> parse_numa_maps(std::string_view text) {
    std::map<std::uint64_t, std::uint64_t> most;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        constexpr std::string_view kMost = " mapmax=";  // names are printed without spaces
        const std::size_t at = line.find(kMost);
        std::uint64_t address = 0, times = 0;
        if (at == std::string_view::npos) continue;
        const char *const end = line.data() + line.size();
        if (std::from_chars(line.data(), end, address, 16).ec != std::errc{}) continue;
        if (std::from_chars(line.data() + at + kMost.size(), end, times).ec == std::errc{}) most[address] = times;
    }
    return most;
}

std::optional<std::map<std::uint64_t, std::uint64_t>> PageMappers::read() const {
    const auto text = process_.read_of_memory_task("numa_maps");
    if (!text) return std::nullopt;
    return parse_numa_maps(text->bytes);
}

std::optional<std::set<std::uint64_t>> PageMappers::find(const Mapping &mapping,
                                                         const std::set<std::uint64_t> &offsets) {
    constexpr std::uint64_t kMost = 20'000;  // a process may have 65,530 mappings: vm.max_map_count
    if (calls_left_ == 0) return std::nullopt;
    --calls_left_;
    if (!times_) {
        const auto before = read();
        std::uint64_t most = 0;
        if (before)
            for (const auto &[address, times] : *before)
                most = std::max(most, times);
        times_ = before && most < kMost ? 2 * most + 100 : 0;
    }
    if (*times_ == 0) return std::nullopt;
    const auto file = open_mapped(process_, mapping);
    if (!file) return std::nullopt;
    const ManyMappings many(*file, offsets, static_cast<std::size_t>(page_size_.bytes), *times_);
    const auto now = many.complete() ? read() : std::nullopt;
    if (!now) return std::nullopt;
    std::set<std::uint64_t> found;
    for (const auto &[address, times] : *now)
        if (times >= *times_) found.insert(address);
    return found;
}

}  // namespace rsslag::procfs
