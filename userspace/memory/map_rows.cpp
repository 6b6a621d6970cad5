// SPDX-License-Identifier: BSD-2-Clause
#include "memory/map_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/glob.h"
#include "core/text.h"

namespace rsslag::memory {
namespace {

using core::Error;
using core::Kind;

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string known_fields() {
    std::string known;
    for (const procfs::SmapsLine &line : procfs::kSmapsLines)
        known += (known.empty() ? "" : ", ") + std::string(line.key);
    return known;
}

}  // namespace

core::Result<const procfs::SmapsLine *> field_named(const std::string &text) {
    for (const procfs::SmapsLine &line : procfs::kSmapsLines) {
        if (same_word(line.key, text)) return &line;
    }
    return Error{Kind::BadInput, fmt::format("smaps has no field '{}'", core::printable(text)), 0,
                 "use one of " + known_fields()};
}

core::Result<Order> order_named(const std::string &text) {
    if (text.empty()) return Order{};
    if (same_word(text, "address")) return Order{Order::By::Address};
    if (same_word(text, "name")) return Order{Order::By::Name};
    const auto field = field_named(text);
    if (!field) {
        return Error{Kind::BadInput, field.error().what + " to sort by", 0,
                     "use address, name or a field: " + known_fields()};
    }
    return Order{Order::By::Field, *field};
}

void sort_mappings(std::vector<procfs::Mapping> &mappings, const Order &order) {
    const auto by_field = [&](const procfs::Mapping &a, const procfs::Mapping &b) {
        return procfs::number(a, *order.field).value_or(-1) > procfs::number(b, *order.field).value_or(-1);
    };
    switch (order.by) {
        case Order::By::Default:
        case Order::By::Address: return;  // as smaps has them
        case Order::By::Name:
            std::stable_sort(mappings.begin(), mappings.end(),
                             [](const auto &a, const auto &b) { return a.name < b.name; });
            return;
        case Order::By::Field: std::stable_sort(mappings.begin(), mappings.end(), by_field); return;
    }
}

void keep_matching(MappedProcess &process, const std::string &glob) {
    if (glob.empty()) return;
    const auto other = [&glob](const procfs::Mapping &mapping) {
        return !core::matches(glob, mapping.recognised.empty() ? mapping.name : mapping.recognised);
    };
    std::erase_if(process.mappings, other);
    std::erase_if(process.groups, [&](const procfs::MapGroup &group) { return !core::matches(glob, group.name); });
}

}  // namespace rsslag::memory
