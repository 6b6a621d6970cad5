// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <set>
#include <string>

#include "analysis/row_source.h"
#include "core/result.h"
#include "memory/row_stacks.h"

namespace rsslag::session {

/// Reads what a recording contains about the processes with these PIDs. Kind::BadInput if it has no samples or is not
/// of this boot; Kind::Io if `stop` returned true; else errors as analysis::emit_rows().
core::Result<std::shared_ptr<const memory::SampledRecording>> read_samples(const std::string &path,
                                                                           const std::set<int> &pids,
                                                                           const analysis::Stop &stop);

}  // namespace rsslag::session
