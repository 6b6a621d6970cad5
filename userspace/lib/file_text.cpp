// SPDX-License-Identifier: BSD-2-Clause
#include "file_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/member_name.h"

namespace rsslag::lib {
namespace {

using core::Error;
using core::Kilobytes;
using core::Kind;

Error malformed(const char *file) {
    return {Kind::Corrupt, fmt::format("the mounted file {} is malformed or of another version", file), 0,
            "use librsslag and rsslag mount of the same version"};
}

template <class Number>
std::optional<Number> number(std::string_view text, int base = 10) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Removes and returns the text before the next `separator`, which is dropped; all of it if there is no separator.
std::string_view take(std::string_view &text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return taken;
}

/// Decodes \xNN (an unprintable byte) and \\ (a backslash).
std::string unescaped(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        if (const auto byte = text.starts_with("\\x") ? number<unsigned char>(text.substr(2, 2), 16) : std::nullopt) {
            bytes.push_back(static_cast<char>(*byte));
            text.remove_prefix(4);
            continue;
        }
        bytes.push_back(text.front());
        text.remove_prefix(text.starts_with("\\\\") ? 2 : 1);
    }
    return bytes;
}

struct Sizes {
    std::array<Kilobytes, core::kMembers> members;
    Kilobytes rss, cached, lag;

    /// In the order of the columns of `rss`.
    std::vector<std::pair<std::string_view, std::int64_t *>> fields() {
        std::vector<std::pair<std::string_view, std::int64_t *>> all;
        all.reserve(core::kMembers + 3);
        for (const core::Member member : core::kMembersInOrder)
            all.emplace_back(core::name(member), &members[static_cast<std::size_t>(member)].n);
        all.insert(all.end(), {{"rss", &rss.n}, {"cached", &cached.n}, {"lag", &lag.n}});
        return all;
    }
};

std::string header() {
    std::string text = "pid uid ";
    for (const auto &[name, value] : Sizes().fields())
        text += std::string(name) + ' ';
    return text + "threads comm";
}

void fill_in(Reading &reading, const Sizes &sizes, core::PageSize page_size) {
    core::Members exact;
    for (const core::Member member : core::kAllMembers)
        exact[member] = page_size.pages(sizes.members[static_cast<std::size_t>(member)]);
    reading.way = Way::File;
    reading.exact = exact;
    reading.rss = page_size.pages(sizes.rss);
    reading.swap = exact.swap;
    reading.cached_rss = page_size.pages(sizes.cached);
    reading.lag = page_size.pages(sizes.lag);
}

bool parse_sizes(std::string_view &line, Sizes &sizes) {
    for (const auto &[name, to] : sizes.fields()) {
        const auto kb = number<std::int64_t>(take(line, ' '));
        if (!kb) return false;
        *to = *kb;
    }
    return true;
}

/// "101", "101+", "101~" or "101+~".
bool parse_threads(std::string_view text, Reading &reading) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view marks = text.substr(digits);
    reading.threads = number<std::int64_t>(text.substr(0, digits));
    reading.foreign = marks.find('+') != std::string_view::npos;
    reading.moved = marks.find('~') != std::string_view::npos;
    return reading.threads.has_value();
}

std::optional<Reading> parse_line(std::string_view line, core::PageSize page_size) {
    Reading reading;
    Sizes sizes;
    const auto pid = number<int>(take(line, ' '));
    const auto uid = number<std::uint32_t>(take(line, ' '));
    if (!pid || !uid || !parse_sizes(line, sizes) || !parse_threads(take(line, ' '), reading)) return std::nullopt;
    reading.pid = *pid;
    reading.comm = unescaped(line);
    fill_in(reading, sizes, page_size);
    return reading;
}

}  // namespace

core::Result<Readings> parse_rss_file(std::string_view text, core::PageSize page_size, pid_t pid) {
    Readings all;
    if (take(text, '\n') != header() || (!text.empty() && text.back() != '\n')) return malformed("rss");
    const std::string prefix = fmt::format("{} ", pid);
    while (!text.empty()) {
        const std::string_view line = take(text, '\n');
        if (pid != 0 && !line.starts_with(prefix)) continue;
        auto reading = parse_line(line, page_size);
        if (!reading) return malformed("rss");
        all.readings.push_back(std::move(*reading));
    }
    return all;
}

core::Result<Reading> parse_self_file(std::string_view text, core::PageSize page_size) {
    Reading reading;
    Sizes sizes;
    std::int64_t pid = 0;
    std::int64_t threads = 0;
    std::int64_t foreign = 0;
    std::int64_t moved = 0;
    auto keys = sizes.fields();
    keys.insert(keys.end(), {{"pid", &pid}, {"threads", &threads}, {"foreign", &foreign}, {"moved", &moved}});
    std::size_t found = 0;
    while (!text.empty()) {
        const std::string_view value_of = take(text, '\n');
        std::string_view value = value_of;
        const std::string_view key = take(value, ' ');
        if (key == "comm") reading.comm = unescaped(value);
        for (const auto &[name, to] : keys) {
            if (name != key) continue;
            const auto parsed = number<std::int64_t>(value);
            if (!parsed) return malformed("self");
            *to = *parsed;
            ++found;
        }
    }
    if (found != keys.size()) return malformed("self");
    reading.pid = static_cast<int>(pid);
    reading.threads = threads;
    reading.foreign = foreign != 0;
    reading.moved = moved != 0;
    fill_in(reading, sizes, page_size);
    return reading;
}

}  // namespace rsslag::lib
