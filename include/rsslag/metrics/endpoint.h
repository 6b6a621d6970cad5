// SPDX-License-Identifier: BSD-2-Clause
// Answers HTTP on the caller's thread, whenever it has time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"

namespace rsslag::metrics {

struct Request {
    std::string path;    ///< as asked for, without what follows a ?
    std::string accept;  ///< the Accept header; empty without one
};

struct Response {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
};

using Answer = std::function<Response(const Request &)>;

/// A socket that listens on "127.0.0.1:9435", "[::1]:9435" or ":9435" (all addresses); port 0 is any that is free.
/// Kind::BadInput: no such address; Kind::Denied, Kind::Io: it cannot be had.
core::Result<core::Fd> listen_on(const std::string &address);
/// What systemd hands in (sd_listen_fds(3)): the first socket, which must listen; none: an Fd that holds nothing.
core::Result<core::Fd> handed_in();
/// "127.0.0.1:9435" of a listening socket.
std::string address_of(int listening);

/// GET and HEAD, nothing else. A connection that has not asked within ten seconds is closed, one that is idle, too, and
/// of more than 256 the one that has been silent for longest. Each has at most 16 kB of headers.
class Endpoint {
  public:
    static core::Result<Endpoint> open(core::Fd listening, Answer answer);

    ~Endpoint();
    Endpoint(Endpoint &&) noexcept;
    Endpoint &operator=(Endpoint &&) noexcept;

    /// Readable when run() has something to do.
    int fd() const;
    /// At most so long until run() has something to do.
    std::chrono::milliseconds patience() const;
    /// Does what can be done without waiting.
    void run();

  private:
    struct State;
    explicit Endpoint(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::metrics
