// SPDX-License-Identifier: BSD-2-Clause
#include "metrics/endpoint.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace rsslag::metrics {
namespace {

using core::Fd;

constexpr std::string_view kRequest = "GET / HTTP/1.0\r\n\r\n";

/// A client that has sent its request.
Fd client_of(const sockaddr_in &address) {
    Fd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int small = 65536;  // whatever net.ipv4.tcp_rmem is
    EXPECT_EQ(setsockopt(client.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
    EXPECT_EQ(send(client.get(), kRequest.data(), kRequest.size(), 0), static_cast<ssize_t>(kRequest.size()));
    return client;
}

/// Adds what has come to `text`. False at the end of the answer.
bool receive(const Fd &client, std::string &text, int flags) {
    std::array<char, 65536> part{};
    const ssize_t got = recv(client.get(), part.data(), part.size(), flags);
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EAGAIN);
}

/// An endpoint on free ports.
class Served {
  public:
    Served(std::size_t sockets, Response response) : response_(std::move(response)) {
        std::vector<Fd> listening;
        for (std::size_t i = 0; i < sockets; ++i) {
            listening.push_back(std::move(listening_sockets("127.0.0.1:0")->front()));
            sockaddr_in &address = addresses_.emplace_back();
            socklen_t size = sizeof(address);
            EXPECT_EQ(getsockname(listening.back().get(), reinterpret_cast<sockaddr *>(&address), &size), 0);
        }
        endpoint_.emplace(std::move(*Endpoint::open(std::move(listening), [this](const Request & /*request*/) {
            answered_++;
            return response_;
        })));
    }
    const std::vector<sockaddr_in> &addresses() const { return addresses_; }

    std::string answer_to(const Fd &client) {
        std::string text;
        while (receive(client, text, MSG_DONTWAIT)) {
            std::array<pollfd, 2> either{{{endpoint_->fd(), POLLIN, 0}, {client.get(), POLLIN, 0}}};
            poll(either.data(), either.size(), static_cast<int>(endpoint_->patience().count()));
            endpoint_->run();
        }
        return text;
    }
    /// Runs until so many requests are answered, and no more of the answers can be sent.
    void answer(int requests) {
        for (bool more = true; answered_ < requests || more;) {
            const auto patience = static_cast<int>(endpoint_->patience().count());
            pollfd work{endpoint_->fd(), POLLIN, 0};
            more = poll(&work, 1, answered_ < requests ? patience : 0) > 0 || patience == 0;
            endpoint_->run();
        }
    }
    void end() { endpoint_.reset(); }

  private:
    Response response_;
    int answered_ = 0;
    std::vector<sockaddr_in> addresses_;
    std::optional<Endpoint> endpoint_;
};

TEST(Endpoint, AnswersOnEachSocket) {
    Served served(2, {200, "text/plain", "body\n"});
    for (const sockaddr_in &address : served.addresses()) {
        const Fd client = client_of(address);
        EXPECT_TRUE(served.answer_to(client).ends_with("\r\n\r\nbody\n"));
    }
}

TEST(Endpoint, PrintsTheUrlOfASocket) {
    const Fd tcp = std::move(listening_sockets("127.0.0.1:0")->front());
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    ASSERT_EQ(getsockname(tcp.get(), reinterpret_cast<sockaddr *>(&address), &size), 0);
    EXPECT_EQ(url_of(tcp.get()), "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/metrics");

    const Fd local(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un at{AF_UNIX, {}};
    std::string path = testing::TempDir() + "rsslag-" + std::to_string(getpid()) + "-";
    path.resize(sizeof(at.sun_path) - 1, 'x');  // the longest path
    path.copy(at.sun_path, sizeof(at.sun_path) - 1);
    ASSERT_EQ(bind(local.get(), reinterpret_cast<const sockaddr *>(&at), sizeof(at)), 0);
    EXPECT_EQ(url_of(local.get()), "unix:" + path);
    unlink(path.c_str());
    EXPECT_EQ(url_of(-1), "at an address that cannot be read");
}

TEST(Endpoint, SendsTheSharedTextBeforeTheBody) {
    const auto shared = std::make_shared<const std::string>(100'000, 'x');
    Served served(1, {200, "text/plain", "body\n", shared});
    const Fd client = client_of(served.addresses()[0]);
    EXPECT_TRUE(served.answer_to(client).ends_with("\r\n\r\n" + *shared + "body\n"));
}

TEST(Endpoint, KeepsOneCopyForClientsThatDoNotRead) {
    auto shared = std::make_shared<const std::string>(std::size_t{32} << 20, 'x');
    const std::weak_ptr<const std::string> text = shared;
    Served served(1, {200, "text/plain", "body\n", std::move(shared)});
    const Fd first = client_of(served.addresses()[0]), second = client_of(served.addresses()[0]);
    served.answer(2);
    EXPECT_EQ(text.use_count(), 3);
    served.end();
    EXPECT_EQ(text.use_count(), 1);
    for (const Fd *const client : {&first, &second}) {
        std::string received;
        while (receive(*client, received, 0)) {
        }
        EXPECT_GT(received.size(), 1000U);
        EXPECT_LT(received.size(), 1U << 20) << "the kernel must not buffer more for a client";
    }
}

}  // namespace
}  // namespace rsslag::metrics
