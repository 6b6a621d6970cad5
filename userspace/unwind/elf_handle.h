// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <libelf.h>

#include <memory>

namespace rsslag::unwind {

struct ElfEnd {
    void operator()(Elf *elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

}  // namespace rsslag::unwind
