// SPDX-License-Identifier: BSD-2-Clause
#include "core/proc_reading.h"

#include <algorithm>

namespace rsslag::core {
namespace {

Pages pages_of(const std::optional<Kilobytes> &kb, const PageSize &page_size) {
    return page_size.pages(kb.value_or(Kilobytes{0}));
}

bool has_members(const ReaderValues &readers) {
    return std::ranges::all_of(kRssMembers, [&](Member member) { return readers.status(member).has_value(); });
}

}  // namespace

void reconcile(ProcReading &reading, const Calibration &calibration, const PageSize &page_size) {
    const ReaderValues &readers = reading.living ? *reading.living : reading.readers;
    if (calibration.status == Truth::Exact && has_members(readers)) {
        Members exact;
        for (const Member member : kAllMembers)
            exact[member] = pages_of(readers.status(member), page_size);
        reading.source = ProcSource::StatusFile;
        reading.members = exact;
        reading.exact = exact.rss();
        reading.confirmed = reading.walk && !reading.moved && page_size.pages(reading.walk->rss) == exact.rss();
    } else if (reading.walk) {
        reading.source = ProcSource::Walk;
        reading.exact = page_size.pages(reading.walk->rss);
    }
    if (!reading.exact || !readers.stat || (reading.leader_gone && !reading.living)) return;
    if (calibration.stat == Truth::Flushed) reading.lag = *reading.exact - *readers.stat;
    if (calibration.stat == Truth::Exact) reading.lag = Pages{0};
}

std::string_view source_name(const ProcReading &reading) {
    switch (reading.source) {
        case ProcSource::StatusFile: return "status";
        case ProcSource::Walk: return name(reading.walk->file);
        case ProcSource::Nothing: break;
    }
    return "nothing";
}

}  // namespace rsslag::core
