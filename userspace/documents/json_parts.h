// SPDX-License-Identifier: BSD-2-Clause
// Parts that several JSON documents share, such as `reading` in docs/schema.
#pragma once

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/reading_figures.h"
#include "documents/snapshot.h"

namespace rsslag::documents {

using core::json::exited;
using core::json::id;
using core::json::members;
using core::json::number;
using core::json::or_null;
using core::json::put_members;

nlohmann::ordered_json readers_json(const core::ReaderValues &values, const core::PageSize &page_size);
nlohmann::ordered_json walked_json(const std::optional<core::Walk> &walk, std::int64_t age_ms);

/// Every key of `reading`, from pid to verdict.
void put_reading(nlohmann::ordered_json &object, const ProcessReading &process, const core::ReadingFigures &figures,
                 const core::PageSize &page_size);

}  // namespace rsslag::documents
