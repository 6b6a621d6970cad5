// SPDX-License-Identifier: BSD-2-Clause
// libbpf's messages. Both functions set process-wide state. Call one of them, once, before any other call of libbpf.
#pragma once

namespace rsslag::probe {

/// Sends libbpf's messages, which include long verifier logs, to spdlog at debug and trace level. The user sees the
/// text of explain_denial() instead.
void log_libbpf();

/// Discards libbpf's messages and keeps libbpf from raising RLIMIT_MEMLOCK, as it does up to 5.10. For librsslag, which
/// has its own copy of libbpf.
void silence_libbpf();

}  // namespace rsslag::probe
