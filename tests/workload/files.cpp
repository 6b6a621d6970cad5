// SPDX-License-Identifier: BSD-2-Clause
// Mappings of a file, private and shared, read and written.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "pages.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"

namespace rsslag::workload {
namespace {

constexpr std::int64_t kDefaultFileKb = 4096;

/// A file to map privately: filled_file(), else this program's executable. `bytes` is reduced to its size.
core::Result<Fd> readable_file(std::size_t &bytes) {
    auto fd = filled_file(bytes);
    if (fd) return fd;
    Fd self(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (!self.open() || fstat(self.get(), &about) != 0) return fd.error();
    const std::size_t whole = static_cast<std::size_t>(about.st_size) / page_size() * page_size();
    bytes = std::min(bytes, whole);
    if (bytes == 0) return fd.error();
    return self;
}

Facts read_facts(Memory memory) {
    return {number("read_kb", kb_of(memory.size())), mapping_fact(memory)};
}

/// Maps a file privately and reads every page.
core::Result<Memory> read_privately(const Options &given) {
    auto size = sizes(given, {.kb = kDefaultFileKb});
    if (!size) return size.error();
    std::size_t bytes = size->bytes();
    auto fd = readable_file(bytes);
    if (!fd) return fd.error();
    auto memory = map_guarded(bytes, {PROT_READ | PROT_WRITE, MAP_PRIVATE, fd->get()});
    if (memory) read_pages(*memory);
    return memory;
}

Facts written_half(Memory memory) {
    const Memory written = memory.first(half_of(memory));
    touch(written);
    Facts facts = read_facts(memory);
    facts.push_back(number("written_kb", kb_of(written.size())));
    return facts;
}

}  // namespace

Started start_file_private(const Options &given) {
    auto memory = read_privately(given);
    if (!memory) return memory.error();
    return read_facts(*memory);
}

// A write to a page that was read moves it from file to anon: the sum of the members does not change.
Started start_file_private_write(const Options &given) {
    auto memory = read_privately(given);
    if (!memory) return memory.error();
    return written_half(*memory);
}

Started start_file_shared(const Options &given) {
    auto size = sizes(given, {.kb = kDefaultFileKb});
    if (!size) return size.error();
    auto fd = filled_file(size->bytes());
    if (!fd) return fd.error();
    auto memory = map_guarded(size->bytes(), {PROT_READ | PROT_WRITE, MAP_SHARED, fd->get()});
    if (!memory) return memory.error();
    read_pages(*memory);
    return written_half(*memory);
}

}  // namespace rsslag::workload
