// SPDX-License-Identifier: BSD-2-Clause
// An HTTP server that runs on the caller's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::metrics {

struct Request {
    std::string path;    ///< without the query string
    std::string accept;  ///< the Accept header; empty if there is none
};

struct Response {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    /// Comes before `body`. It is not copied, so that many clients can receive the same text at the same time.
    std::shared_ptr<const std::string> shared = nullptr;
};

using Answer = std::function<Response(const Request &)>;

/// All sockets that systemd passes (sd_listen_fds(3)). If it passes none: one that listens on `address`, which is
/// "127.0.0.1:9435", "[::1]:9435" or ":9435" (all addresses); with port 0, on any free port.
/// Kind::BadInput: a socket does not listen, or the address is malformed; Kind::Denied or Kind::Io: a system call
/// failed.
core::Result<std::vector<core::Fd>> listening_sockets(const std::string &address);
/// "http://127.0.0.1:9435/metrics" of a listening socket, or "unix:/run/rsslag.sock".
std::string url_of(int listening);

/// Handles GET and HEAD only. Closes a connection whose request and answer take more than ten seconds. If more than 256
/// connections wait for either, closes the one that waits longest. Each has 16 kB of memory for its headers, and 144
/// kB for the part of a response that it does not read.
class Endpoint {
  public:
    /// Starts the server on the sockets. Kind::Io if that fails.
    static core::Result<Endpoint> open(std::vector<core::Fd> listening, Answer answer);

    ~Endpoint();
    Endpoint(Endpoint &&) noexcept;
    Endpoint &operator=(Endpoint &&) noexcept;

    /// Becomes readable when run() has work to do.
    int fd() const;
    /// The longest time to wait for fd() before run() must be called.
    std::chrono::milliseconds patience() const;
    /// Does all work that is possible without blocking.
    void run();

  private:
    struct State;
    explicit Endpoint(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::metrics
