// SPDX-License-Identifier: BSD-2-Clause
// Renderers of rsslag maps: JSON and text. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "documents/snapshot.h"
#include "memory/mapped_process.h"
#include "procfs/smaps_lines.h"

namespace rsslag::documents {

using memory::Asserted;
using memory::Baseline;
using memory::ElfReport;
using memory::MappedProcess;
using memory::MapsDocument;
using memory::PagesOmission;
using memory::PagesReport;
using memory::PagesRow;
using memory::TopNumbers;

/// Which details of the mappings are shown.
struct MapsChoices {
    bool each = false;                               ///< list every mapping instead of groups
    std::vector<const procfs::SmapsLine *> columns;  ///< with `each`
    std::size_t groups = 40;                         ///< rows listed of each kind; the rest is one sum
};

/// One of top's memory columns, in top's order. `shown` (by top) and `exact` are in kB; for %MEM in percent of
/// MemTotal.
struct TopRow {
    std::string_view column, file, field;
    std::optional<double> shown, exact;
    bool percent = false;
    std::string note;  ///< explains a column whose meaning in top may surprise; may be empty
};
std::vector<TopRow> top_rows(const MappedProcess &process, const core::PageSize &page_size);

/// A member's sum over the mappings next to its exact counter.
struct MemberCheck {
    core::Member member = core::Member::File;
    core::Kilobytes walked;
    core::Pages exact;
    core::Pages difference;  ///< walked − exact
};
/// For anon, file and shmem; empty without exact counters.
std::vector<MemberCheck> member_checks(const MappedProcess &process, const core::PageSize &page_size);

/// rsslag.maps/1 (docs/schema/maps.schema.json): one line with a newline.
std::string maps_json(const MapsDocument &document, const MapsChoices &choices);

/// Text: top's columns, quadrants, sums, then groups or mappings.
std::string maps_text(const MapsDocument &document, const MappedProcess &process, const MapsChoices &choices,
                      const TextStyle &style);

/// A process whose mappings cannot be read: the values of its status file if there is one, and the reason.
std::string unmapped_text(const MapsDocument &document, const memory::UnmappedProcess &process, const TextStyle &style);

/// The changes since the previous reading or the baseline; empty if there is neither.
std::string changes_text(const MappedProcess &process, const TextStyle &style);
/// A later reading of --watch: one line of sums, then the changes.
std::string look_text(const MapsDocument &document, const MappedProcess &process, const TextStyle &style);
/// One line for each assertion that holds (`holding`), or for each one that does not.
std::string assertions_text(const MappedProcess &process, const TextStyle &style, bool holding);

/// Facts for a bug report that MapsDocument does not contain.
struct ReportFacts {
    std::string version;     ///< of rsslag
    std::string huge_pages;  ///< the setting of transparent huge pages
};
/// The head of a bug report, in ASCII. maps_text() follows it.
std::string report_head(const MapsDocument &document, const MappedProcess &process, const ReportFacts &facts);

/// The output of pmap -x (pmap_x_text) and pmap -X, with names through core::harmless().
std::string pmap_x_text(const MappedProcess &process, bool utf8);
std::string pmap_details_text(const MappedProcess &process, bool utf8);

}  // namespace rsslag::documents
