// SPDX-License-Identifier: BSD-2-Clause
#include <string>

#include "fuzz.h"
#include "procfs/files.h"

using rsslag::fuzz::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text = rsslag::fuzz::as_text(data, size);
    auto stat = rsslag::procfs::parse_stat(text);
    if (!stat) {
        rsslag::fuzz::require_said(stat.error());
        return 0;
    }
    require(stat->pid >= 0 && stat->ppid >= 0 && stat->num_threads >= 0 && stat->rss.n >= 0);
    require(stat->comm.size() < size);
    // The name is the text between the first "(" and the last ")".
    require(text.find('(') + 1 + stat->comm.size() == text.rfind(')'));
    require(text.substr(text.find('(') + 1, stat->comm.size()) == stat->comm);
    // The same line with a hostile name differs only in the name.
    std::string renamed(text);
    renamed.replace(text.find('(') + 1, stat->comm.size(), ") R 1\n(");
    auto again = rsslag::procfs::parse_stat(renamed);
    require(again.ok() && again->comm == ") R 1\n(" && again->rss == stat->rss && again->min_flt == stat->min_flt);
    return 0;
}
