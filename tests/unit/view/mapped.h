// SPDX-License-Identifier: BSD-2-Clause
// A process with a few mappings of each kind, for the tests of maps.
#pragma once

#include "rsslag/view/maps.h"

namespace rsslag::view::test {

/// One quiescent process, whose counters agree with its mappings.
MapsDocument maps_document();

}  // namespace rsslag::view::test
