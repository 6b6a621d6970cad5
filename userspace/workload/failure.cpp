// SPDX-License-Identifier: BSD-2-Clause
#include "failure.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace rsslag::workload {
namespace {

core::Kind kind_of(int err) {
    switch (err) {
        case EPERM:
        case EACCES: return core::Kind::Denied;
        // Limits and missing features: the same call succeeds on another machine or with other limits.
        case ENOMEM:
        case EAGAIN:
        case ENOSYS:
        case ENODEV:
        case EINVAL:
        case EOPNOTSUPP: return core::Kind::Unsupported;
        case EIO:
        case ENOSPC:
        case EDQUOT: return core::Kind::Io;
        default: return core::Kind::Internal;
    }
}

}  // namespace

core::Error failed(std::string_view call, int err, std::string remedy) {
    // Not strerror, which is not thread-safe: workloads also fail in threads and forked children.
    return {kind_of(err), std::string(call) + ": " + std::generic_category().message(err), err, std::move(remedy)};
}

core::Error unsupported(std::string what, std::string remedy) {
    return {core::Kind::Unsupported, std::move(what), 0, std::move(remedy)};
}

}  // namespace rsslag::workload
