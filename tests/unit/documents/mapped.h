// SPDX-License-Identifier: BSD-2-Clause
// A process with a few mappings of each kind, for the tests of maps.
#pragma once

#include "documents/maps.h"

namespace rsslag::documents::test {

/// One quiescent process, whose counters agree with its mappings.
MapsDocument maps_document();

}  // namespace rsslag::documents::test
