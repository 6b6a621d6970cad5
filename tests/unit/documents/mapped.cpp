// SPDX-License-Identifier: BSD-2-Clause
#include "mapped.h"

namespace rsslag::documents::test {
namespace {

using core::Kilobytes;
using core::Pages;
using procfs::Mapping;

struct Made {
    std::uint64_t start;
    std::string perms, device, name;
    std::int64_t size, rss, anon, pss;
    std::string flags = "rd mr mw me";
};

Mapping mapping(const Made &made) {
    Mapping mapping;
    mapping.start = made.start;
    mapping.end = made.start + static_cast<std::uint64_t>(made.size) * 1024;
    mapping.perms = made.perms;
    mapping.device = made.device;
    mapping.inode = made.device == "00:00" ? 0 : 42;
    mapping.name = made.name;
    mapping.size = {made.size};
    mapping.fields.rss = Kilobytes{made.rss};
    mapping.fields.pss = Kilobytes{made.pss};
    mapping.fields.anonymous = Kilobytes{made.anon};
    mapping.fields.private_dirty = Kilobytes{made.anon};
    mapping.fields.private_clean = Kilobytes{0};
    mapping.fields.shared_clean = Kilobytes{made.rss - made.anon};
    mapping.fields.shared_dirty = Kilobytes{0};
    mapping.fields.swap = Kilobytes{0};
    mapping.vm_flags = made.flags;
    return mapping;
}

ProcessReading reading() {
    ProcessReading reading;
    reading.pid = 4711;
    reading.walk_state = core::WalkState::Done;
    reading.walk = core::Walk{};
    reading.walk->file = core::WalkFile::Smaps;
    reading.verdict.verdict = core::Verdict::Agrees;
    reading.verdict.residual = Pages{};
    reading.verdict.exact = {.file = {102}, .anon = {28}, .swap = {0}, .shmem = {50}};
    reading.verdict.cached = {.file = {0}, .anon = {5}, .swap = {0}, .shmem = {0}};
    reading.verdict.flushed = reading.verdict.exact - reading.verdict.cached;
    return reading;
}

}  // namespace

MapsDocument maps_document() {
    const procfs::Devices devices{"00:01", {"00:2d"}, {"08:01"}};
    MappedProcess process;
    process.pid = 4711;
    process.uid = 1000;
    process.start_ticks = 123456;
    process.comm = "server";
    process.exe = process.program = "/usr/bin/server";
    process.cmdline = "server --port 80 \x1b[1m";
    process.top.statm = procfs::Statm{{4194304}, {175}, {152}, {100}, {0}, {4194000}, {0}};
    process.top.vm_swap = Kilobytes{0};
    process.top.mem_total = Kilobytes{72000};
    process.reading = reading();
    process.walk_us = 321;
    process.internal_device = "00:01";
    process.mappings = {mapping({0x400000, "r-xp", "08:01", "/usr/bin/server", 400, 300, 0, 150}),
                        mapping({0x500000, "rw-p", "08:01", "/usr/bin/server", 40, 20, 12, 16}),
                        mapping({0x600000, "rw-p", "00:00", "[heap]", 16776000, 80, 80, 80}),
                        mapping({0x7f0000000000, "rw-s", "00:01", "/dev/zero (deleted)", 512, 200, 0, 100}),
                        mapping({0x7f1000000000, "r--s", "08:01", "/var/two\\012lines \x1b[1m", 96, 80, 0, 80}),
                        mapping({0x7fff00000000, "rw-p", "00:00", "[stack]", 132, 20, 20, 20, "rd wr gd"}),
                        mapping({0x7fff10000000, "r-xp", "00:00", "[vdso]", 8, 20, 0, 0})};
    process.quadrants = procfs::quadrants(process.mappings, devices);
    process.sums = procfs::sums(process.mappings, devices);
    process.groups = procfs::groups(process.mappings, devices);
    MapsDocument document;
    document.time = std::chrono::system_clock::time_point(std::chrono::seconds(1795262400));
    document.kernel = "6.1.0";
    document.arch = "x86_64";
    document.machine.scheme = core::Scheme::Thread;
    document.counted = true;
    document.processes = {process};
    return document;
}

}  // namespace rsslag::documents::test
