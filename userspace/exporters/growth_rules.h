// SPDX-License-Identifier: BSD-2-Clause
// Attributes the pages of an update or a fault to a mapping and a thread. Reports and screens use the same rules.
#pragma once

#include <utility>

#include "core/growth.h"
#include "exporters/row.h"

namespace rsslag::exporters {

/// Whether an update can count as growth once its amount is known.
inline bool may_grow(const UpdateRow &row) {
    return row.at.mm != 0 && !row.newborn && !row.teardown && row.member && core::in_rss(*row.member);
}

/// Whether an update counts as growth.
inline bool is_growth(const UpdateRow &row) {
    return row.pages && may_grow(row);
}

/// Attributes the pages of an update that is_growth(). `Into` provides
///   Mapping, with Mapping{} for none;  Mapping mapping(std::string_view name);
///   Mapping *last_fault(int tid): on the `thread` scheme the mapping of a fault whose pages are not reported yet, or
/// null;
///   void faulted(int tid, Mapping);
///   void by_fault(Mapping, int tid, core::Pages);  void by_none(core::NoFault, core::Pages);
template <class Into>
void attribute(const UpdateRow &row, Into &&into) {
    const core::Pages change = *row.pages - row.from_faults;
    if (change.n == 0 && row.from_faults.n != 0) return;
    // `thread` scheme: a flush contains pages that no fault record has reported. They belong to the last fault if its
    // pages are not reported yet; else they came without a fault.
    if (row.type == UpdateRow::Type::Flush) {
        if (auto *const last = into.last_fault(row.at.tid)) return into.by_fault(*last, row.at.tid, change);
    } else if (row.fault) {
        return into.by_fault(into.mapping(row.mapping), row.at.tid, change);
    }
    using core::NoFault;
    into.by_none(row.by_other ? NoFault::ByOthers : change.n > 0 ? NoFault::Populated : NoFault::GivenUp, change);
}

/// Attributes the pages of a fault record. A record taken at the entry of a fault reports the pages of the previous
/// fault.
template <class Into>
void attribute(const FaultRow &row, Into &&into) {
    const core::Pages came = row.came.rss();
    const int tid = row.at.tid;
    if (row.after) {
        if (came.n == 0) return;
        if (row.fault.kernel) return into.by_fault(into.mapping(row.mapping), tid, came);
        return into.by_none(came.n > 0 ? core::NoFault::Populated : core::NoFault::GivenUp, came);
    }
    if (auto *const last = into.last_fault(tid); last != nullptr && came.n != 0) into.by_fault(*last, tid, came);
    into.faulted(tid, into.mapping(row.mapping));
}

}  // namespace rsslag::exporters
