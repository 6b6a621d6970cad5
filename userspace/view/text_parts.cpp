// SPDX-License-Identifier: BSD-2-Clause
#include "text_parts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rsslag/core/text.h"

namespace rsslag::view {

std::string amount(core::Pages pages, const core::PageSize &page_size, const TextStyle &style) {
    std::string text = style.pages(pages, page_size);
    if (style.utf8 && text.front() == '-') text.replace(0, 1, "\u2212");
    return text;
}

std::string column(core::Pages pages, const core::PageSize &page_size, const TextStyle &style) {
    std::string text = amount(pages, page_size, style);
    text.resize(text.find(' '));
    return text;
}

std::string right(const std::string &text, std::size_t width) {
    const auto cells = static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    return cells < width ? std::string(width - cells, ' ') + text : text;
}

/// Counts are below 2^53, as SPEC has it.
std::string thousands(std::uint64_t count) {
    return core::with_thousands(static_cast<std::int64_t>(count));
}

std::string local_clock(std::chrono::system_clock::time_point time) {
    return fmt::format("{:%H:%M:%S}", fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

std::string_view sign(Mark mark) {
    switch (mark) {
        case Mark::None: return "";
        case Mark::Approximate: return "~";
        case Mark::AfterLoss: break;
    }
    return "!";
}

std::string upper(std::string_view word) {
    std::string text(word);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string painted(std::string line, core::Verdict verdict, bool color) {
    if (!color) return line;
    const char *const code = verdict == core::Verdict::Agrees || verdict == core::Verdict::Explained ? "32"
                             : verdict == core::Verdict::Unexplained                                 ? "31"
                                                                                                     : "33";
    const std::size_t end = std::min(line.find_first_of(", :"), line.size());
    return fmt::format("\x1b[1;{}m{}\x1b[0m{}", code, line.substr(0, end), line.substr(end));
}

}  // namespace rsslag::view
