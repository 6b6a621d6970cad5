// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bpf/libbpf.h>

#include <memory>

namespace rsslag::probe {

struct LinkDeleter {
    void operator()(bpf_link *link) const { bpf_link__destroy(link); }
};
/// An attached program; the destructor detaches it.
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

}  // namespace rsslag::probe
