// SPDX-License-Identifier: BSD-2-Clause
// The kernel's types for libbpf's CO-RE relocations. libbpf compares each type that a program uses with all types that
// it is given. The kernel has more than 100,000 types, and a program uses a few dozen of them.
#pragma once

#include <bpf/libbpf.h>

#include <memory>
#include <string>

#include "core/fd.h"

struct btf;

namespace rsslag::probe {

class KernelTypes;

struct BtfDeleter {
    void operator()(btf *types) const;
};
using BtfPtr = std::unique_ptr<btf, BtfDeleter>;

/// A copy of the types in `kernel` whose name, without a flavor suffix, is also in `program`, with the types of their
/// members. Pointers become void *. The copies have new ids. Null if out of memory.
BtfPtr types_named(const KernelTypes &kernel, const btf &program);

/// types_named() as a file for libbpf. The file exists as long as this object.
class CoreTypes {
  public:
    /// Makes the file; if `kernel` is null, there is none.
    CoreTypes(const KernelTypes *kernel, const btf &program);
    CoreTypes(const CoreTypes &) = delete;
    CoreTypes &operator=(const CoreTypes &) = delete;

    /// Whether there is a file. If not, open the object without open_options(), so that libbpf searches all types of
    /// the kernel.
    bool made() const { return !path_.empty(); }
    const bpf_object_open_opts *open_options() const { return &options_; }

  private:
    core::Fd file_;
    std::string path_;
    bpf_object_open_opts options_{};
};

}  // namespace rsslag::probe
