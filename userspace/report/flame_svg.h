// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rsslag::report {

struct Report;

/// A flame graph as a self-contained SVG: a panel for the pages that came, one for those that went, and one for those
/// that are still resident. The width of a box is the share of the stacks that contain its function with the same
/// callers. In a browser, a click zooms, and there is a search. Boxes that are too narrow to see are left out.
/// With an older report, red boxes have more pages than in that one, blue boxes fewer. A box is as wide as the larger
/// of both, so that what only the older report contains is visible, too. If the text would have more bytes than `most`,
/// wider boxes are left out as well; the text then says so.
std::string flame_svg(const Report &report, const Report *older = nullptr, std::size_t most = SIZE_MAX);

}  // namespace rsslag::report
