// SPDX-License-Identifier: BSD-2-Clause
#include "session/process_maps.h"

#include <chrono>
#include <utility>

#include "memory/page_counter.h"
#include "system/machine.h"
#include "system/privileges.h"

namespace rsslag::session {

core::Result<ProcessMaps> ProcessMaps::open(const std::vector<cap_value_t> &chosen) {
    auto reader = memory::MapReader::open();
    if (!reader) return reader.error();
    ProcessMaps here(*std::move(reader));
    auto snapshotter = system::Snapshotter::open({.capabilities = chosen});
    if (snapshotter) {
        here.snapshotter_ = std::make_shared<system::Snapshotter>(*std::move(snapshotter));
        here.reader_->count_with([counters = here.snapshotter_](const auto &process, const auto &walk) {
            return counters->take_around(process, walk);
        });
        return here;
    }
    here.reader_->no_counters(memory::error_text(snapshotter.error()));
    std::vector<cap_value_t> keep{CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};
    keep.insert(keep.end(), chosen.begin(), chosen.end());
    const core::Status dropped = system::keep_only(keep);
    if (!dropped) return dropped.error();
    return here;
}

memory::MapsDocument ProcessMaps::document() const {
    memory::MapsDocument document;
    document.time = std::chrono::system_clock::now();
    const system::Host host = system::this_host();
    document.kernel = host.kernel;
    document.arch = host.arch;
    document.machine = snapshotter_ ? snapshotter_->document().machine : host.machine;
    document.counted = snapshotter_ != nullptr;
    return document;
}

core::Result<memory::MappedProcess> read_mappings(memory::MapReader &reader, const procfs::Process &process,
                                                  const MapsRequest &request) {
    const auto stop = [&request] { return request.stop.load(); };
    auto read = reader.read(process);
    if (read && request.pages) {
        auto pages = memory::count_pages(process, *read, request.limit, stop);
        if (!pages) return pages.error();
        read->pages = *std::move(pages);
    }
    if (read && !request.elf.empty()) {
        auto elf = memory::count_elf_pages(process, *read, request.elf, stop);
        if (!elf) return elf.error();
        read->elf = *std::move(elf);
    }
    if (read && request.samples) {
        auto stacks = memory::resident_samples(process, *read, request.samples);
        if (stacks)
            read->stacks = *std::move(stacks);
        else
            read->why_no_stacks = memory::error_text(stacks.error());
    }
    return read;
}

}  // namespace rsslag::session
