// SPDX-License-Identifier: BSD-2-Clause
#include <string>

#include "procfs/memory_map.h"
#include "smaps_checks.h"

using rsslag::fuzz::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text = rsslag::fuzz::as_text(data, size);
    auto mappings = rsslag::procfs::parse_smaps(text);
    if (!mappings) {
        rsslag::fuzz::require_said(mappings.error());
        return 0;
    }
    require(mappings->empty() == text.empty());
    for (const auto &mapping : *mappings) {
        require(mapping.start < mapping.end);
        require(mapping.size.n >= 0 && mapping.fields.rss.has_value());
        require(mapping.perms.size() == 4 && mapping.name.find('\n') == std::string::npos);
        require(!mapping.name.starts_with(' '));
        rsslag::fuzz::require_sums(mapping.fields);
    }
    rsslag::procfs::SmapsFields total = sum(*mappings);
    rsslag::fuzz::require_sums(total);
    require(total.rss.has_value() == !mappings->empty());
    static_cast<void>(rsslag::procfs::quadrants(*mappings, {}));
    static_cast<void>(rsslag::procfs::groups(*mappings, {}));
    // Two complete texts in succession are a complete text.
    auto doubled = rsslag::procfs::parse_smaps(std::string(text) + std::string(text));
    require(doubled.ok() && doubled->size() == 2 * mappings->size());
    return 0;
}
