// SPDX-License-Identifier: BSD-2-Clause
// Mappings of a file, private and shared, read and written.
#include <sys/mman.h>

#include <cerrno>

#include "failure.h"
#include "memory.h"
#include "starts.h"
#include "temp_file.h"

namespace rsslag::workload {
namespace {

constexpr std::int64_t kDefaultFileKb = 4096;

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
    auto fd = writable_file(size->bytes(), Fill::Data);
    if (!fd) return fd.error();
    auto memory = map_guarded(size->bytes(), {PROT_READ | PROT_WRITE, MAP_SHARED, fd->get()});
    if (!memory) return memory.error();
    read_pages(*memory);
    return written_half(*memory);
}

}  // namespace rsslag::workload
