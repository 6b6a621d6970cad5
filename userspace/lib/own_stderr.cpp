// SPDX-License-Identifier: BSD-2-Clause
// Linked into librsslag only. The linker redirects all references to stderr in the library to this pointer
// (--wrap=stderr), because libbpf's archive refers to the C library's stderr by a relocation that a shared library
// cannot contain. libbpf prints there by default. probe/libbpf_alone.cpp turns that off before any other call of
// libbpf, so the pointer is never used.
#include <cstdio>

extern FILE *silent_stderr __asm__("__wrap_stderr");
FILE *silent_stderr = nullptr;
