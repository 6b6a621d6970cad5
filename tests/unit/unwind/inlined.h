// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// What an instruction is in: lines of the innermost function, of its caller, and so on; 0: no more.
struct Place {
    unsigned long address;  // NOLINT(google-runtime-int): as the register
    int lines[3];
};

extern "C" {
void called(Place &place);
void without_inlined(Place &place);
}
