// SPDX-License-Identifier: BSD-2-Clause
#include "memory/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"

namespace rsslag::memory {
namespace {

using core::Kilobytes;
using nlohmann::json;

/// Keys of .sums, without _kb.
constexpr std::array<std::pair<std::string_view, Kilobytes procfs::MapSums::*>, 12> kSums{
    {{"size", &procfs::MapSums::size},
     {"rss", &procfs::MapSums::rss},
     {"pss", &procfs::MapSums::pss},
     {"shared_clean", &procfs::MapSums::shared_clean},
     {"shared_dirty", &procfs::MapSums::shared_dirty},
     {"private_clean", &procfs::MapSums::private_clean},
     {"private_dirty", &procfs::MapSums::private_dirty},
     {"swap", &procfs::MapSums::swap},
     {"swap_pss", &procfs::MapSums::swap_pss},
     {"lazy_free", &procfs::MapSums::lazy_free},
     {"droppable", &procfs::MapSums::droppable},
     {"hugetlb", &procfs::MapSums::hugetlb}}};

/// Whether the sum is an upper bound of an amount that smaps does not show (droppable.h).
bool is_upper_bound(std::string_view name) {
    return name == "droppable";
}

std::vector<core::AssertedFigure> asserted_sums() {
    using Unit = core::AssertedFigure::Unit;
    std::vector<core::AssertedFigure> all{{"shared", Unit::Size, true}, {"private", Unit::Size, true}};
    for (const auto &[name, member] : kSums)
        all.push_back({name, Unit::Size, true});
    return all;
}

Kilobytes kb(const json &object, std::string_view key) {
    return {object.at(std::string(key) + "_kb").get<std::int64_t>()};
}

procfs::MapGroup group_of(const json &object) {
    procfs::MapGroup group;
    group.name = object.at("name").get<std::string>();
    group.shared = object.at("kind").get<std::string>() == "shared";
    group.written_file = object.at("writable_file").get<bool>();
    group.mappings = object.at("mappings").get<std::size_t>();
    group.size = kb(object, "size");
    group.rss = kb(object, "rss");
    group.pss = kb(object, "pss");
    group.clean = kb(object, "clean");
    group.dirty = kb(object, "dirty");
    group.swap = kb(object, "swap");
    return group;
}

Baseline process_of(const json &object) {
    Baseline baseline;
    baseline.pid = object.at("pid").get<int>();
    baseline.comm = object.at("comm").get<std::string>();
    const json &sums = object.at("sums");
    baseline.sums.mappings = sums.at("mappings").get<std::size_t>();
    for (const auto &[name, member] : kSums)
        baseline.sums.*member = kb(sums, name);
    for (const json &group : object.at("groups"))
        baseline.groups.push_back(group_of(group));
    return baseline;
}

/// One document is one line, or several; the last document counts.
std::string_view last_line(std::string_view text) {
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    const std::size_t before = text.rfind('\n');
    // A pretty-printed document ends with a lone brace on a line. It is taken to be the only one.
    if (before == std::string_view::npos || text.ends_with("\n}")) return text;
    return text.substr(before + 1);
}

}  // namespace

core::Result<std::vector<Baseline>> read_baselines(std::string_view text) {
    const auto refused = [](const std::string &why) {
        return core::Error{core::Kind::Corrupt, "the baseline is not an rsslag.maps/1 document: " + why, 0,
                           "create one with rsslag maps --json PID"};
    };
    try {
        const json document = json::parse(last_line(text));
        if (document.at("schema").get<std::string>() != "rsslag.maps/1") return refused("it has another schema");
        std::vector<Baseline> all;
        for (const json &process : document.at("processes"))
            all.push_back(process_of(process));
        return all;
    } catch (const json::exception &error) {
        return refused(core::printable(error.what()));
    }
}

core::Result<std::vector<Baseline>> read_baseline_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
        return core::Error{core::Kind::BadInput,
                           fmt::format("cannot open {}: {}", core::printable(path), std::strerror(errno)), errno,
                           "create one with rsslag maps --json PID"};
    }
    return read_baselines(text);
}

const Baseline *baseline_of(const std::vector<Baseline> &all, int pid, std::string_view comm) {
    if (all.size() == 1) return &all.front();
    const auto same_pid = std::ranges::find(all, pid, &Baseline::pid);
    if (same_pid != all.end() && same_pid->comm == comm) return &*same_pid;
    const auto same_comm = std::ranges::find(all, comm, &Baseline::comm);
    if (same_comm == all.end() || std::ranges::count(all, comm, &Baseline::comm) > 1) return nullptr;
    return &*same_comm;
}

std::optional<Kilobytes> named_sum(const procfs::MapSums &sums, std::string_view name) {
    if (name == "shared") return sums.shared_total();
    if (name == "private") return sums.private_total();
    for (const auto &[known, member] : kSums) {
        if (known == name) return sums.*member;
    }
    return std::nullopt;
}

std::string sum_names() {
    return core::names_of(asserted_sums());
}

core::Result<std::vector<core::Assertion>> parse_assertions(std::string_view text) {
    auto all = core::parse_assertions(text, asserted_sums(), "'private_dirty<10MiB' or 'rss.growth<=5%'");
    if (all && all->size() == 1) all->front().text = text;
    return all;
}

Asserted evaluate(const core::Assertion &assertion, const procfs::MapSums &now, const Baseline *before) {
    Asserted asserted{assertion, std::nullopt, std::nullopt, std::nullopt};
    const auto value = named_sum(now, assertion.field);
    if (!value || (assertion.growth && before == nullptr)) return asserted;
    const Kilobytes was = assertion.growth ? *named_sum(before->sums, assertion.field) : Kilobytes{};
    asserted.value = *value - was;
    asserted.compared = assertion.compared(*value, was);
    asserted.holds = assertion.holds(*asserted.compared);
    if (!is_upper_bound(assertion.field)) return asserted;
    // The amounts are between 0 and the bounds. A comparison has one answer for all of them if it has the same answer
    // for the least and for the largest growth; == also has different answers in between.
    asserted.at_most = true;
    const bool of_least = assertion.holds(Kilobytes{}, was);
    const bool of_most = assertion.holds(*value, Kilobytes{});
    const bool one_amount = value->n == 0 && was.n == 0;
    const bool between = assertion.relation == core::Assertion::Relation::Equal && !one_amount;
    if (of_least != of_most || between) asserted.holds.reset();
    return asserted;
}

}  // namespace rsslag::memory
