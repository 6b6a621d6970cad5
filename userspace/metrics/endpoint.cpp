// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/endpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace rsslag::metrics {
namespace {

using core::Error;
using core::Fd;
using core::Kind;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kMostConnections = 512;
// Connections without a request. The limit is below kMostConnections, so that a further one is still accepted.
constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kMemoryOfConnection = 16 * 1024;
constexpr std::size_t kBlock = 16 * 1024;  // copied from a response at a time
// The kernel doubles it. Its default grows to some megabytes for a client that does not read.
constexpr int kSendBuffer = 64 * 1024;
constexpr std::chrono::seconds kDeadline{10};
constexpr milliseconds kPatience{1000};
constexpr Clock::time_point kClosed = Clock::time_point::max();

struct DaemonEnd {
    void operator()(MHD_Daemon *daemon) const {
        MHD_quiesce_daemon(daemon);  // the listening socket has another owner
        MHD_stop_daemon(daemon);
    }
};
using Daemon = std::unique_ptr<MHD_Daemon, DaemonEnd>;

struct AddressesEnd {
    void operator()(addrinfo *list) const { freeaddrinfo(list); }
};

Error cannot_listen(const std::string &address, int err) {
    const bool denied = err == EACCES || err == EPERM;
    const bool taken = err == EADDRINUSE || err == EADDRNOTAVAIL;
    return {denied || taken ? Kind::Denied : Kind::Io,
            fmt::format("cannot listen on {}: {}", address, std::strerror(err)), err,
            denied  ? "use a port of at least 1024"
            : taken ? "use another port, or an address of this machine"
                    : ""};
}

core::Result<Fd> listening_socket(const addrinfo &at, const std::string &address) {
    Fd fd(socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol));
    const int on = 1;
    if (fd.get() < 0) return cannot_listen(address, errno);
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 || listen(fd.get(), SOMAXCONN) != 0)
        return cannot_listen(address, errno);
    return fd;
}

std::string_view header(MHD_Connection *connection, const char *name) {
    const char *const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

ssize_t copy_body(void *response, std::uint64_t from, char *to, std::size_t most) {
    const auto &parts = *static_cast<const Response *>(response);
    std::size_t copied = 0;
    for (const std::string_view part :
         {parts.shared ? std::string_view(*parts.shared) : "", std::string_view(parts.body)}) {
        const std::size_t begin = std::min<std::uint64_t>(from, part.size());
        from -= begin;
        copied += part.copy(to + copied, most - copied, begin);
    }
    return static_cast<ssize_t>(copied);
}

void end_body(void *response) {
    delete static_cast<Response *>(response);
}

MHD_Result send(MHD_Connection *connection, Response parts) {
    auto owned = std::make_unique<Response>(std::move(parts));
    const Response &response = *owned;
    const std::size_t size = response.body.size() + (response.shared ? response.shared->size() : 0);
    MHD_Response *const out = MHD_create_response_from_callback(size, kBlock, &copy_body, owned.get(), &end_body);
    if (out == nullptr) return MHD_NO;
    (void)owned.release();  // to `out`
    MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
    if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(out, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const MHD_Result queued = MHD_queue_response(connection, response.status, out);
    MHD_destroy_response(out);
    return queued;
}

core::Result<Fd> listen_on(const std::string &address) {
    const std::size_t colon = address.rfind(':');
    const Error bad{Kind::BadInput, fmt::format("'{}' is not an address to listen on", address), 0,
                    "use ADDRESS:PORT, for example 127.0.0.1:9435"};
    if (colon == std::string::npos) return bad;
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const std::string port = address.substr(colon + 1);
    std::uint16_t number = 0;  // getaddrinfo() takes larger ones modulo 2^16
    const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (wrong != std::errc() || end != port.data() + port.size()) return bad;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo *found = nullptr;
    if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) return bad;
    const std::unique_ptr<addrinfo, AddressesEnd> list(found);
    return listening_socket(*list, address);
}

/// Empty if it passes none.
core::Result<std::vector<Fd>> sockets_from_systemd() {
    constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
    const char *const pid = std::getenv("LISTEN_PID");
    const char *const count = std::getenv("LISTEN_FDS");
    std::vector<Fd> sockets;
    if (pid == nullptr || count == nullptr || std::atoi(pid) != getpid()) return sockets;
    for (int fd = kFirst; fd - kFirst < std::atoi(count); ++fd) {
        int listens = 0;
        socklen_t size = sizeof(listens);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
            return Error{Kind::BadInput, "a descriptor from systemd is not a listening socket", 0,
                         "set ListenStream= in the socket unit"};
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        sockets.emplace_back(fd);
    }
    return sockets;
}

}  // namespace

core::Result<std::vector<Fd>> listening_sockets(const std::string &address) {
    auto sockets = sockets_from_systemd();
    if (!sockets || !sockets->empty()) return sockets;
    auto socket = listen_on(address);
    if (!socket) return socket.error();
    sockets->push_back(std::move(*socket));
    return sockets;
}

std::string url_of(int listening) {
    sockaddr_storage at{};
    socklen_t size = sizeof(at);
    std::array<char, NI_MAXHOST> host{};
    std::array<char, sizeof(sockaddr_un::sun_path) + 1> port{};  // the path of a Unix socket
    if (getsockname(listening, reinterpret_cast<sockaddr *>(&at), &size) != 0 ||
        getnameinfo(reinterpret_cast<const sockaddr *>(&at), size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "at an address that cannot be read";
    if (at.ss_family == AF_UNIX) return fmt::format("unix:{}", core::printable(port.data()));
    return at.ss_family == AF_INET6 ? fmt::format("http://[{}]:{}/metrics", host.data(), port.data())
                                    : fmt::format("http://{}:{}/metrics", host.data(), port.data());
}

struct Endpoint::State {
    std::vector<Fd> listening;
    Answer answer;
    /// Connections and since when each waits for a request; kClosed: shut down, but MHD has not noticed yet.
    std::map<MHD_Connection *, Clock::time_point> waiting;
    Fd epoll;                     ///< of the daemons' epoll descriptors
    std::vector<Daemon> daemons;  ///< one for each socket; the last member, as they call changed() when they end

    core::Status start(const Fd &socket);
    static MHD_Result asked(void *self, MHD_Connection *connection, const char *url, const char *method,
                            const char * /*version*/, const char * /*upload*/, std::size_t *upload_size,
                            void **context);
    static void changed(void *self, MHD_Connection *connection, void ** /*context*/,
                        MHD_ConnectionNotificationCode code);
    static void done(void *self, MHD_Connection *connection, void ** /*context*/, MHD_RequestTerminationCode code);
    static void close(MHD_Connection *connection, Clock::time_point &since);
    void close_the_late();
    void close_longest_waiting();
};

MHD_Result Endpoint::State::asked(void *self, MHD_Connection *connection, const char *url, const char *method,
                                  const char * /*version*/, const char * /*upload*/, std::size_t *upload_size,
                                  void **context) {
    auto &state = *static_cast<State *>(self);
    // MHD calls this once for the headers, then until the whole body has arrived. The body is discarded.
    if (*context == nullptr) {
        *context = &state;
        if (std::strcmp(method, MHD_HTTP_METHOD_GET) == 0 || std::strcmp(method, MHD_HTTP_METHOD_HEAD) == 0)
            return MHD_YES;
        return send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", "GET and HEAD only\n"});
    }
    if (*upload_size != 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    return send(connection, state.answer({url, std::string(header(connection, MHD_HTTP_HEADER_ACCEPT))}));
}

void Endpoint::State::changed(void *self, MHD_Connection *connection, void ** /*context*/,
                              MHD_ConnectionNotificationCode code) {
    auto &state = *static_cast<State *>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        state.close_longest_waiting();
        state.waiting[connection] = Clock::now();
    } else {
        state.waiting.erase(connection);
    }
}

void Endpoint::State::done(void *self, MHD_Connection *connection, void ** /*context*/,
                           MHD_RequestTerminationCode /*code*/) {
    auto &waiting = static_cast<State *>(self)->waiting;
    const auto found = waiting.find(connection);
    if (found != waiting.end() && found->second != kClosed) found->second = Clock::now();
}

void Endpoint::State::close(MHD_Connection *connection, Clock::time_point &since) {
    const MHD_ConnectionInfo *const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != nullptr) shutdown(info->connect_fd, SHUT_RDWR);
    since = kClosed;
}

/// A client that sends a byte now and then is never idle for MHD, so the deadline for a complete request is kept here.
void Endpoint::State::close_the_late() {
    const auto late = Clock::now() - kDeadline;
    for (auto &[connection, since] : waiting) {
        if (since <= late) close(connection, since);
    }
}

/// Closes the connection that has waited longest, so that a new client is served however many wait.
void Endpoint::State::close_longest_waiting() {
    std::size_t open = 0;
    auto oldest = waiting.end();
    for (auto each = waiting.begin(); each != waiting.end(); ++each) {
        if (each->second == kClosed) continue;
        ++open;
        if (oldest == waiting.end() || each->second < oldest->second) oldest = each;
    }
    if (open >= kMostWaiting) close(oldest->first, oldest->second);
}

core::Status Endpoint::State::start(const Fd &socket) {
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof(kSendBuffer));
    daemons.emplace_back(MHD_start_daemon(
        MHD_USE_EPOLL, 0, nullptr, nullptr, &State::asked, this, MHD_OPTION_LISTEN_SOCKET, socket.get(),
        MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMemoryOfConnection,
        MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kDeadline.count()), MHD_OPTION_NOTIFY_CONNECTION,
        &State::changed, this, MHD_OPTION_NOTIFY_COMPLETED, &State::done, this, MHD_OPTION_END));
    MHD_Daemon *const daemon = daemons.back().get();
    const MHD_DaemonInfo *const info =
        daemon == nullptr ? nullptr : MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    epoll_event event{EPOLLIN, {}};
    if (info == nullptr || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, info->epoll_fd, &event) != 0)
        return Error{Kind::Io, "cannot start the HTTP server", errno, ""};
    return core::success();
}

core::Result<Endpoint> Endpoint::open(std::vector<Fd> listening, Answer answer) {
    auto state = std::make_unique<State>();
    state->listening = std::move(listening);
    state->answer = std::move(answer);
    state->epoll = Fd(epoll_create1(EPOLL_CLOEXEC));
    for (const Fd &socket : state->listening) {
        if (core::Status started = state->start(socket); !started) return started.error();
    }
    return Endpoint(std::move(state));
}

Endpoint::Endpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Endpoint::~Endpoint() = default;
Endpoint::Endpoint(Endpoint &&) noexcept = default;
Endpoint &Endpoint::operator=(Endpoint &&) noexcept = default;

int Endpoint::fd() const {
    return state_->epoll.get();
}

milliseconds Endpoint::patience() const {
    unsigned long long least = kPatience.count();
    for (const Daemon &daemon : state_->daemons) {
        MHD_UNSIGNED_LONG_LONG wait = 0;
        if (MHD_get_timeout(daemon.get(), &wait) == MHD_YES) least = std::min<unsigned long long>(least, wait);
    }
    return milliseconds(static_cast<std::int64_t>(least));
}

void Endpoint::run() {
    state_->close_the_late();
    for (const Daemon &daemon : state_->daemons)
        MHD_run(daemon.get());
}

}  // namespace rsslag::metrics
