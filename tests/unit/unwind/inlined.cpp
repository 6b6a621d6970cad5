// SPDX-License-Identifier: BSD-2-Clause
// A library with debug information. Its functions return the address of an instruction, and the lines of the calls.
#include "inlined.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

namespace inlined {

ALWAYS_INLINE void innermost(Place &place) {
    place.lines[0] = __LINE__ + 1;
    __asm__ volatile("lea 0(%%rip), %0" : "=r"(place.address));
}

ALWAYS_INLINE void middle(Place &place) {
    for (int i = 0; i < 2; ++i) {  // a block of its own
        if (place.lines[0] != 0) return;
        place.lines[1] = __LINE__ + 1;
        innermost(place);
    }
}

}  // namespace inlined

extern "C" void called(Place &place) {
    place.lines[2] = __LINE__ + 1;
    inlined::middle(place);
}

extern "C" void without_inlined(Place &place) {
    place.lines[0] = __LINE__ + 1;
    __asm__ volatile("lea 0(%%rip), %0" : "=r"(place.address));
}
