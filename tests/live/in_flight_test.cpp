// SPDX-License-Identifier: BSD-2-Clause
// Updates in flight: a process is preempted in the middle of a munmap, when the mapping has left
// the tree and not all of its pages are zapped.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "../long_only.h"
#include "run.h"

namespace rsslag::live {
namespace {

using nlohmann::json;

void pin(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
}

/// Pages of a file in the page cache: mapping them takes little more time than unmapping them.
[[noreturn]] void map_and_unmap() {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(0);
    const int file = memfd_create("pages", 0);
    if (ftruncate(file, kBytes) != 0) _exit(1);
    for (;;) {
        void *const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
        munmap(memory, kBytes);
    }
}

/// A real-time thread that occupies CPU 0 on request. Each time is less than a second. So real-time throttling does not
/// start, and a target that was preempted with a lock held can continue.
class Hog {
  public:
    Hog() : thread_([this] { work(); }) { ready_.wait(0); }
    ~Hog() {
        phase_ = kEnd;
        phase_.notify_all();
        thread_.join();
    }
    Hog(const Hog &) = delete;
    Hog &operator=(const Hog &) = delete;

    bool real_time() const { return ready_ == 2; }
    void take() {
        phase_ = kSpin;
        phase_.notify_all();
        while (phase_ == kSpin)
            std::this_thread::yield();
    }
    void release() { phase_ = kRest; }

  private:
    enum : int { kRest, kSpin, kSpinning, kEnd };

    void work() {
        pin(0);
        const sched_param priority{50};
        ready_ = sched_setscheduler(0, SCHED_FIFO, &priority) == 0 ? 2 : 1;
        ready_.notify_all();
        while (phase_ != kEnd) {
            phase_.wait(kRest);
            int expected_phase = kSpin;
            phase_.compare_exchange_strong(expected_phase, kSpinning);
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(emulated() ? 800 : 300);
            while (phase_ == kSpinning && std::chrono::steady_clock::now() < end) {
            }
            int spinning = kSpinning;
            phase_.compare_exchange_strong(spinning, kRest);
        }
    }

    std::atomic<int> phase_{kRest};
    std::atomic<int> ready_{0};
    std::thread thread_;
};

TEST(Residual, OfAMunmapThatIsHeldMidwayIsCalledInFlight) {
    RSSLAG_LONG_ONLY("in one of 300 tries it must read the target in the middle of a munmap");
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        GTEST_SKIP() << "with one CPU the target cannot be kept off the CPU while it is read";
    const pid_t child = fork();
    if (child == 0) map_and_unmap();
    cpu_set_t before;
    sched_getaffinity(0, sizeof(before), &before);
    Hog hog;
    bool seen = false;
    if (hog.real_time()) {
        pin(1);
        const std::vector<std::string> words{"snapshot", "--json", "--repeat", "5", std::to_string(child)};
        const int most = emulated() ? 3 : 300;
        for (int tries = 0; tries < most && !seen; ++tries) {
            hog.take();
            for (const json &document : run_json(words)) {
                const json &process = document["processes"].at(0);
                ASSERT_NE(process["verdict"], "unexplained") << process.dump(1);
                if (process["verdict"] != "explained") continue;
                seen = true;
                EXPECT_EQ(process["residual_causes"].size(), 1U);
                EXPECT_EQ(process["residual_causes"][0]["cause"], "in_flight");
                EXPECT_EQ(process["residual_causes"][0]["pages"], process["residual"]);
                EXPECT_LT(process["residual"], 0);
                EXPECT_GE(process["residual"], -65536);
                EXPECT_EQ(process["walked"]["file"], "smaps");
            }
            hog.release();
        }
    }
    sched_setaffinity(0, sizeof(before), &before);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!hog.real_time()) GTEST_SKIP() << "this user may not set a real-time priority";
    if (!seen && emulated()) GTEST_SKIP() << "emulated CPUs are too slow to read the target while it is preempted";
    EXPECT_TRUE(seen) << "none of 300 readings was in the middle of a munmap";
}

}  // namespace
}  // namespace rsslag::live
