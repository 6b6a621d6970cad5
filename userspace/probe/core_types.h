// SPDX-License-Identifier: BSD-2-Clause
// What libbpf adjusts a program by (CO-RE). It compares each type that the program names with all that it is given: the
// kernel has more than 100,000, of which a program names some dozen.
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

/// Those of `kernel` that have the name of one of `program`'s, flavors aside, with all that lies in them; what is only
/// pointed at is void. Types have other ids then. Null: no memory.
BtfPtr types_named(const btf &kernel, const btf &program);

/// The same as a file, for libbpf, as long as this lives.
class CoreTypes {
  public:
    /// `kernel`: null where it is not at hand.
    CoreTypes(const btf *kernel, const btf &program);
    CoreTypes(const CoreTypes &) = delete;
    CoreTypes &operator=(const CoreTypes &) = delete;

    /// False: there is no such file, and libbpf looks through all types that the kernel has.
    bool made() const { return !path_.empty(); }
    const bpf_object_open_opts *open_options() const { return &options_; }

  private:
    core::Fd file_;
    std::string path_;
    bpf_object_open_opts options_{};
};

}  // namespace rsslag::probe
