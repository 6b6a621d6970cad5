// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace rsslag::probe {

/// libbpf's words (a verifier log among them, many lines long) go to the log: what the user needs of them is said by
/// explain_denial.
void log_libbpf();

}  // namespace rsslag::probe
