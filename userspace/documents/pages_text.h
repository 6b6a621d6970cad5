// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "documents/snapshot.h"
#include "memory/pages.h"

namespace rsslag::documents {

using memory::ElfReport;
using memory::PagesOmission;
using memory::PagesReport;
using memory::PagesRow;

nlohmann::ordered_json pages_json(const PagesReport &report);
/// A table, then a line about unknown values.
std::string pages_text(const PagesReport &report, const TextStyle &style);

nlohmann::ordered_json elf_json(const ElfReport &report);
std::string elf_text(const ElfReport &report, const TextStyle &style);

}  // namespace rsslag::documents
