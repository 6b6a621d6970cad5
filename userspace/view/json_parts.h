// SPDX-License-Identifier: BSD-2-Clause
// The parts that JSON documents have in common, as SPEC's `reading` has them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "rsslag/view/judgement.h"

namespace rsslag::view {

/// null where it is unknown.
template <class T>
nlohmann::ordered_json or_null(const std::optional<T> &value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json number(const std::optional<core::Pages> &pages);

/// A PID or TID; 0 stands for one that this PID namespace does not show.
nlohmann::ordered_json id(int number);

/// SPEC's M: file, anon, shmem, swap, rss.
nlohmann::ordered_json members(const core::Members &members);
void put_members(nlohmann::ordered_json &object, const core::Members &members);

/// Every key of `reading`, from pid to verdict.
void put_reading(nlohmann::ordered_json &object, const ProcessReading &process, const Judgement &judgement,
                 const core::PageSize &page_size);

}  // namespace rsslag::view
