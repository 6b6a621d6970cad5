// SPDX-License-Identifier: BSD-2-Clause
#include "core/size.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>

#include "core/text.h"

namespace rsslag::core {
namespace {

std::optional<std::uint64_t> bytes_of(const std::string &argument) {
    std::uint64_t number = 0;
    const char *const end = argument.data() + argument.size();
    const auto [rest, err] = std::from_chars(argument.data(), end, number);
    const std::string unit(rest, end);
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
    if (err != std::errc{} || shift < 0 || number == 0 || number > UINT64_MAX >> shift) return std::nullopt;
    return number << shift;
}

}  // namespace

Result<std::uint64_t> parse_size(const char *option, const std::string &argument, std::uint64_t least,
                                 std::uint64_t most, const char *range) {
    const auto size = bytes_of(argument);
    if (!size)
        return Error{Kind::BadInput, fmt::format("{} {} is not a size", option, printable(argument)), 0,
                     "use 512K, 8M or 1G"};
    if (*size < least || *size > most)
        return Error{Kind::BadInput, fmt::format("{} {} is out of range", option, printable(argument)), 0, range};
    return *size;
}

}  // namespace rsslag::core
