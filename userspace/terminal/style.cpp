// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/style.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>

#include "core/text.h"

namespace rsslag::terminal {

bool locale_is_utf8() {
    std::setlocale(LC_CTYPE, "");
    return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

core::Result<documents::TextStyle> text_style(const std::string &unit, const std::string &color) {
    documents::TextStyle style;
    style.utf8 = locale_is_utf8();
    if (color == "auto") {
        const char *const no_color = std::getenv("NO_COLOR");
        style.color = isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
    } else if (color == "always" || color == "never") {
        style.color = color == "always";
    } else {
        return core::Error{core::Kind::BadInput, fmt::format("--color {} is not valid", core::printable(color)), 0,
                           "use auto, always or never"};
    }
    style.unit = unit;
    if (unit == "kB") {
        style.pages = core::as_kb;
    } else if (unit == "MiB") {
        style.pages = core::as_mib;
    } else if (unit == "GiB") {
        style.pages = core::as_gib;
    } else if (unit == "pages") {
        style.pages = core::as_pages;
    } else {
        return core::Error{core::Kind::BadInput, fmt::format("--unit {} is not valid", core::printable(unit)), 0,
                           "use kB, MiB, GiB or pages"};
    }
    return style;
}

}  // namespace rsslag::terminal
