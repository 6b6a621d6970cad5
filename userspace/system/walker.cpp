// SPDX-License-Identifier: BSD-2-Clause
#include "walker.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace rsslag::system {

struct Walker::State {
    std::mutex mutex;
    std::condition_variable came, went;
    std::function<void()> job;
    bool busy = false;
    bool stop = false;
    std::thread thread;

    void run();
};

Walker::Walker(std::function<bool()> stop_waiting, std::chrono::milliseconds patience)
    : stop_waiting_(std::move(stop_waiting)), patience_(patience), state_(std::make_shared<State>()) {}

Walker::~Walker() {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->came.notify_one();
    const bool busy = state_->busy;
    lock.unlock();
    if (!state_->thread.joinable()) return;
    busy ? state_->thread.detach() : state_->thread.join();
}

void Walker::State::run() {
    pthread_setname_np(pthread_self(), "walker");
    std::unique_lock lock(mutex);
    for (;;) {
        came.wait(lock, [this] { return stop || busy; });
        if (!busy) return;
        const std::function<void()> work = std::exchange(job, nullptr);
        lock.unlock();
        work();
        lock.lock();
        busy = false;
        went.notify_one();
    }
}

bool Walker::run(std::function<void()> job) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kLook{20};
    std::optional<Clock::time_point> enough_at;
    State &state = *state_;
    std::unique_lock lock(state.mutex);
    if (state.busy) return false;
    if (!state.thread.joinable()) state.thread = std::thread([shared = state_] { shared->run(); });
    state.job = std::move(job);
    state.busy = true;
    state.came.notify_one();
    while (!state.went.wait_for(lock, kLook, [&state] { return !state.busy; })) {
        lock.unlock();
        if (!enough_at && stop_waiting_()) enough_at = Clock::now() + patience_;
        lock.lock();
        if (state.busy && enough_at && Clock::now() >= *enough_at) return false;
    }
    return true;
}

}  // namespace rsslag::system
