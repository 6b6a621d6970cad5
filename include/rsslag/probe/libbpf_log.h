// SPDX-License-Identifier: BSD-2-Clause
// What libbpf has to say, which is for the whole process: whoever begins it decides, once.
#pragma once

namespace rsslag::probe {

/// libbpf's words (a verifier log among them, many lines long) go to the log: what the user needs of them is said by
/// explain_denial.
void log_libbpf();

/// libbpf says nothing, and leaves the limit on locked memory alone (up to 5.10 it would raise it). For a copy of
/// libbpf that nobody else uses.
void keep_libbpf_to_itself();

}  // namespace rsslag::probe
