// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <string>

#include "fuzz.h"
#include "procfs/files.h"

using rsslag::fuzz::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view text = rsslag::fuzz::as_text(data, size);
    auto status = rsslag::procfs::parse_status(text);
    if (!status) {
        rsslag::fuzz::require_said(status.error());
        return 0;
    }
    require(status->tgid >= 0 && status->pid >= 0 && status->ppid >= 0 && status->threads >= 0);
    const auto sensible = [](const auto &size_line) { return !size_line || size_line->n >= 0; };
    for (const auto &size_line : {status->vm_size, status->vm_hwm, status->vm_rss, status->hugetlb})
        require(sensible(size_line));
    require(std::all_of(status->members.begin(), status->members.end(), sensible));
    require(std::all_of(status->ns_pids.begin(), status->ns_pids.end(), [](int pid) { return pid >= 0; }));
    // Unknown lines do not change the result, at the start or at the end.
    auto again = rsslag::procfs::parse_status("Unheard:\t1 kB\n" + std::string(text) + "Of: x\n");
    require(again.ok() && again->name == status->name && again->vm_rss == status->vm_rss &&
            again->ns_pids == status->ns_pids && again->real_uid == status->real_uid);
    return 0;
}
