// SPDX-License-Identifier: BSD-2-Clause
#include "system/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "core/fd.h"
#include "system/environment.h"

namespace rsslag::system {
namespace {

StopSignals *current = nullptr;

}  // namespace

StopSignals::StopSignals(int interrupts) : interrupts_left_(interrupts) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (signal != SIGHUP || !was_ignored(SIGHUP)) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    fd_ = procfs::Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.open()) sigprocmask(SIG_UNBLOCK, &set, nullptr);  // then a signal ends rsslag at once
    current = this;
    core::must_stop = [] { return current->stop_requested(); };
}

StopSignals::~StopSignals() {
    core::must_stop = nullptr;
}

bool StopSignals::stop_requested() {
    return wait(std::chrono::milliseconds{});
}

void StopSignals::read_one() {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return;
    if (info.ssi_signo != SIGINT || --interrupts_left_ <= 0) {
        came_ = true;
    } else {
        interrupted_ = true;
    }
}

bool StopSignals::wait(std::chrono::milliseconds timeout, int *also) {
    std::array<pollfd, 2> waiting{
        {{fd_.get(), POLLIN, 0}, {also == nullptr ? -1 : *also, POLLIN, 0}}};  // poll() ignores a negative one
    while (!came_ && poll(waiting.data(), waiting.size(), static_cast<int>(timeout.count())) > 0) {
        if (waiting[0].revents != 0) read_one();
        if (waiting[1].revents == 0 || also == nullptr) continue;
        *also = -1;
        break;
    }
    return came_;
}

}  // namespace rsslag::system
