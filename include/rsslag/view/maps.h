// SPDX-License-Identifier: BSD-2-Clause
// The ways to show what rsslag maps shows. Pure: state in, text out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/memory/mapped_process.h"
#include "rsslag/procfs/smaps_lines.h"
#include "rsslag/view/snapshot.h"

namespace rsslag::view {

using memory::Asserted;
using memory::Baseline;
using memory::ElfReport;
using memory::MappedProcess;
using memory::MapsDocument;
using memory::PagesOmission;
using memory::PagesReport;
using memory::PagesRow;
using memory::TopNumbers;

/// What of the mappings is shown.
struct MapsChoices {
    bool each = false;                               ///< every mapping rather than groups
    std::vector<const procfs::SmapsLine *> columns;  ///< with `each`
    std::size_t groups = 40;                         ///< rows of groups of a kind before the rest is summed up
};

/// One of top's memory columns, in the order in which top has them. says and exact are kB, for %MEM percent of
/// MemTotal.
struct TopRow {
    std::string_view column, file, field;
    std::optional<double> says, exact;
    bool percent = false;
    std::string note;  ///< where top's meaning surprises; may be empty
};
std::vector<TopRow> top_rows(const MappedProcess &process, const core::PageSize &page_size);

/// Σ over the mappings of what each member should be, beside what it is.
struct MemberCheck {
    core::Member member = core::Member::File;
    core::Kilobytes walked;
    core::Pages exact;
    core::Pages difference;  ///< walked − exact
};
/// Of file, anon and shmem; empty without exact counters.
std::vector<MemberCheck> member_checks(const MappedProcess &process, const core::PageSize &page_size);

/// rsslag.maps/1 as docs/schema/maps.schema.json has it, one line, with a newline.
std::string maps_json(const MapsDocument &document, const MapsChoices &choices);

/// For people: top's columns, quadrants, sums, groups or mappings.
std::string maps_text(const MapsDocument &document, const MappedProcess &process, const MapsChoices &choices,
                      const TextStyle &style);

/// Of one whose mappings may not be read: what its status says.
std::string unmapped_text(const MapsDocument &document, const memory::UnmappedProcess &process, const TextStyle &style);

/// What is not as it was at the last look or in the baseline; empty where there is none to compare with.
std::string changes_text(const MappedProcess &process, const TextStyle &style);
/// A later look of --watch: a line of sums, and the changes.
std::string look_text(const MapsDocument &document, const MappedProcess &process, const TextStyle &style);
/// A line for each assertion.
std::string assertions_text(const MappedProcess &process, const TextStyle &style, bool holding);

/// What a bug report says of the machine beyond the document.
struct ReportFacts {
    std::string version;     ///< of rsslag
    std::string huge_pages;  ///< the setting of transparent huge pages
};
/// Plain ASCII, before maps_text.
std::string report_head(const MapsDocument &document, const MappedProcess &process, const ReportFacts &facts);

/// What pmap -x and pmap -X print of it, but that no byte of a name reaches the terminal raw.
std::string pmap_x_text(const MappedProcess &process, bool utf8);
std::string pmap_details_text(const MappedProcess &process, bool utf8);

}  // namespace rsslag::view
