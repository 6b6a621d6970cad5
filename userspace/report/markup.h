// SPDX-License-Identifier: BSD-2-Clause
// Escaping of text for SVG and HTML.
#pragma once

#include <string>
#include <string_view>

#include "core/text.h"

namespace rsslag::report {

/// Escapes a name so that it is only text, in elements and in attributes.
inline std::string escaped(std::string_view raw) {
    std::string out;
    for (const char c : core::printable(raw)) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace rsslag::report
