// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/row.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "row_fields.h"

namespace rsslag::exporters {

std::string_view TypeName::operator()(const UpdateRow &row) const {
    switch (row.type) {
        case UpdateRow::Type::Update: return "update";
        case UpdateRow::Type::Flush: return "flush";
        case UpdateRow::Type::Fold: break;
    }
    return "fold";
}

std::string_view TypeName::operator()(const TaskRow &row) const {
    switch (row.type) {
        case TaskRow::Type::ThreadStart: return "thread_start";
        case TaskRow::Type::ThreadEnd: return "thread_end";
        case TaskRow::Type::Rename: return "rename";
        case TaskRow::Type::Exec: return "exec";
        case TaskRow::Type::Fork: return "fork";
        case TaskRow::Type::Exit: return "exit";
        case TaskRow::Type::Seen: break;
    }
    return "seen";
}

std::string_view TypeName::operator()(const MappingRow &row) const {
    switch (row.type) {
        case MappingRow::Type::Mapped: return "mapped";
        case MappingRow::Type::Moved: return "moved";
        case MappingRow::Type::Named: return "named";
        case MappingRow::Type::Listed: break;
    }
    return "listed";
}

const std::array<std::string, kColumns> &column_names() {
    static const std::array<std::string, kColumns> names = [] {
        std::array<std::string, kColumns> made;
        std::size_t at = 0;
        const auto add = [&]<class Field>(const Field &field) {
            if constexpr (Field::kWidth == 1) {
                made[at++] = field.name;
            } else {
                for (const core::Member member : core::kMembersInOrder)
                    made[at++] = fmt::format("{}_{}", field.name, core::name(member));
                made[at++] = fmt::format("{}_rss", field.name);
            }
        };
        std::apply([&](const auto &...field) { (add(field), ...); }, fields::kAll);
        return made;
    }();
    return names;
}

std::string_view type_name(const Row &row) {
    return std::visit(TypeName(), row);
}

void append_harmless(std::string &out, std::string_view raw) {
    const bool plain = std::all_of(raw.begin(), raw.end(),
                                   [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '"' && c != ','; });
    plain ? out.append(raw) : out.append(core::printable(raw));
}

}  // namespace rsslag::exporters
