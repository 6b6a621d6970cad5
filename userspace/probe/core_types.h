// SPDX-License-Identifier: BSD-2-Clause
// The kernel's types for libbpf's CO-RE relocations. libbpf compares each type that a program names with all types that
// it is given: the kernel has more than 100,000, a program names a few dozen.
#pragma once

#include <bpf/libbpf.h>

#include <memory>
#include <string>

#include "rsslag/core/fd.h"

struct btf;

namespace rsslag::probe {

struct BtfDeleter {
    void operator()(btf *types) const;
};
using BtfPtr = std::unique_ptr<btf, BtfDeleter>;

/// A copy of the types in `kernel` whose name, flavor suffix removed, is also in `program`, with the types of their
/// members. Pointers become void *. The copies have new ids. Null: out of memory.
BtfPtr types_named(const btf &kernel, const btf &program);

/// types_named() as a file for libbpf. The file exists as long as this object.
class CoreTypes {
  public:
    /// `kernel` may be null: then there is no file.
    CoreTypes(const btf *kernel, const btf &program);
    CoreTypes(const CoreTypes &) = delete;
    CoreTypes &operator=(const CoreTypes &) = delete;

    /// False: there is no file; open the object without open_options(), and libbpf searches all types of the kernel.
    bool made() const { return !path_.empty(); }
    const bpf_object_open_opts *open_options() const { return &options_; }

  private:
    core::Fd file_;
    std::string path_;
    bpf_object_open_opts options_{};
};

}  // namespace rsslag::probe
