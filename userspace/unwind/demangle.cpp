// SPDX-License-Identifier: BSD-2-Clause
#include "demangle.h"

#define HAVE_DECL_BASENAME 1  // libiberty would declare it again
#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>

namespace rsslag::unwind {
namespace {

using Demangler = int (*)(const char *, int, demangle_callbackref, void *);

/// What a demangler has printed. A mangled name may refer to parts of itself, so that a few hundred bytes stand for
/// gigabytes, and the demanglers have no limit.
struct Printed {
    std::array<char, 1000> text{};
    std::size_t size = 0;
    std::jmp_buf full{};
};

void print(const char *part, std::size_t size, void *to) {
    auto &printed = *static_cast<Printed *>(to);
    const std::size_t fits = std::min(size, printed.text.size() - printed.size);
    std::copy_n(part, fits, printed.text.begin() + printed.size);
    printed.size += fits;
    if (fits < size) std::longjmp(printed.full, 1);  // NOLINT(cert-err52-cpp): over frames of C
}

/// Returns whether it is a symbol of that language.
bool demangle(Demangler demangler, const char *name, Printed &printed) {
    if (setjmp(printed.full) != 0) return true;  // NOLINT(cert-err52-cpp)
    return demangler(name, DMGL_PARAMS | DMGL_ANSI, print, &printed) != 0;
}

}  // namespace

/// Rust's demangler comes first: that of C++ accepts Rust's older symbols, and prints their hash.
std::string demangled(const std::string &name) {
    for (const Demangler demangler : {&rust_demangle_callback, &cplus_demangle_v3_callback}) {
        Printed printed;
        if (demangle(demangler, name.c_str(), printed)) return {printed.text.data(), printed.size};
    }
    return name;
}

}  // namespace rsslag::unwind
