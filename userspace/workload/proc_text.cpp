// SPDX-License-Identifier: BSD-2-Clause
#include "proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "core/fd.h"
#include "failure.h"

namespace rsslag::workload {

using core::Fd;
namespace {

std::optional<std::int64_t> leading_number(std::string_view text) {
    const std::size_t start = text.find_first_not_of(" \t");
    if (start == std::string_view::npos) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, err] = std::from_chars(text.data() + start, text.data() + text.size(), value);
    if (err != std::errc{}) return std::nullopt;
    return value;
}

}  // namespace

core::Result<std::string> read_text(const std::string &path) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.open()) return failed("cannot open " + path, errno);
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t got = core::uninterrupted([&] { return read(fd.get(), buffer.data(), buffer.size()); });
        if (got < 0) return failed("cannot read " + path, errno);
        if (got == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

core::Result<std::int64_t> read_number(const std::string &path) {
    auto text = read_text(path);
    if (!text) return text.error();
    const std::optional<std::int64_t> value = leading_number(*text);
    if (!value) return core::Error{core::Kind::Corrupt, path + " does not contain a number", 0, ""};
    return *value;
}

std::optional<std::int64_t> labelled_kb(std::string_view text, std::string_view label) {
    while (!text.empty()) {
        if (text.starts_with(label)) return leading_number(text.substr(label.size()));
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return std::nullopt;
}

}  // namespace rsslag::workload
