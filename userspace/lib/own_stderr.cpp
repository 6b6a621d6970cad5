// SPDX-License-Identifier: BSD-2-Clause
// Linked into librsslag alone, whose references to stderr the linker takes here (--wrap=stderr): libbpf's archive
// reaches for the C library's in a way that a shared library cannot have, to print where nobody has set to whom.
// probe/libbpf_alone.cpp sets that nobody is to hear, before anything else is asked of it.
#include <cstdio>

extern FILE *silent_stderr __asm__("__wrap_stderr");
FILE *silent_stderr = nullptr;
