// SPDX-License-Identifier: BSD-2-Clause
// The fault storm. In each round each thread maps 8 MiB without huge pages, touches every page and unmaps them. All
// benchmarks of tracers and all tests of completeness use it, so it makes no page faults outside of the rounds. It
// prints `ready PID` when it is set up and starts at a byte on stdin. At the end it prints one line of JSON and waits
// for the next byte. It does not fork or exec, and does not allocate memory between the two bytes.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "touch_program.h"

namespace {

constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr unsigned kMostThreads = 64;

struct Storm {
    unsigned threads = 1;
    unsigned rounds = 100;
    bool by_kernel = false;  ///< every other page is touched first by the kernel, as by a read() into it
    std::size_t page_bytes = 4096;
    pthread_barrier_t set_up{}, begin{}, end{};
};

struct Worker {
    Storm *storm = nullptr;
    pthread_t handle{};
    std::uint64_t cpu_ns = 0;
};

struct Result {
    std::uint64_t faults = 0;
    std::uint64_t ns = 0;
    std::uint64_t cpu_ns = 0;  ///< of all threads; depends less on the load of the machine than `ns`
};

[[noreturn]] void die(const char *what) {
    std::perror(what);
    _exit(1);
}

std::uint64_t now_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t faults_so_far() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

/// One page fault: of the program's own store, or of the kernel's.
void touch(unsigned char *page, bool by_kernel) {
    if (by_kernel) {
        if (uname(reinterpret_cast<utsname *>(page)) != 0) die("storm: uname");
    } else {
        *static_cast<volatile unsigned char *>(page) = 1;
    }
}

void go_round(const Storm &storm) {
    void *const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) die("storm: mmap");
    // A kernel without huge pages refuses the advice, and needs none.
    (void)madvise(at, kBytes, MADV_NOHUGEPAGE);
    auto *const bytes = static_cast<unsigned char *>(at);
    bool odd = false;
    for (std::size_t offset = 0; offset < kBytes; offset += storm.page_bytes, odd = !odd)
        touch(bytes + offset, odd && storm.by_kernel);
    if (munmap(at, kBytes) != 0) die("storm: munmap");
}

void *work(void *argument) {
    auto &worker = *static_cast<Worker *>(argument);
    Storm &storm = *worker.storm;
    // Faults in the code, the stack, libc's functions and the page tables' upper levels.
    go_round(storm);
    (void)now_ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_barrier_wait(&storm.set_up);
    pthread_barrier_wait(&storm.begin);
    const std::uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned round = 0; round < storm.rounds; ++round)
        go_round(storm);
    worker.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    pthread_barrier_wait(&storm.end);
    // A thread never ends: its end would make updates and faults after the storm.
    for (;;)
        pause();
}

/// A line built on the stack: printf may allocate.
class Line {
  public:
    Line &text(std::string_view more) {
        if (used_ + more.size() <= bytes_.size()) {
            std::memcpy(bytes_.data() + used_, more.data(), more.size());
            used_ += more.size();
        }
        return *this;
    }
    Line &number(std::uint64_t value) {
        const auto [end, failed] = std::to_chars(bytes_.data() + used_, bytes_.data() + bytes_.size(), value);
        if (failed == std::errc()) used_ = static_cast<std::size_t>(end - bytes_.data());
        return *this;
    }
    Line &tenths(std::uint64_t dividend, std::uint64_t divisor) {
        const std::uint64_t tenths = divisor == 0 ? 0 : (dividend * 10 + divisor / 2) / divisor;
        return number(tenths / 10).text(".").number(tenths % 10);
    }
    void put() const {
        if (write(STDOUT_FILENO, bytes_.data(), used_) != static_cast<ssize_t>(used_)) die("storm: write");
    }
    [[nodiscard]] bool empty() const { return used_ == 0; }

  private:
    std::array<char, 256> bytes_{};
    std::size_t used_ = 0;
};

Line json_of(const Storm &storm, const Result &result) {
    Line line;
    line.text("{\"faults\":").number(result.faults).text(",\"ns\":").number(result.ns);
    // The time of a thread, not of the storm, so that two threads that are as fast as one have the same cost.
    line.text(",\"ns_per_fault\":").tenths(result.ns * storm.threads, result.faults);
    line.text(",\"cpu_ns_per_fault\":").tenths(result.cpu_ns, result.faults);
    line.text(",\"threads\":").number(storm.threads).text(",\"rounds\":").number(storm.rounds).text("}\n");
    return line;
}

/// False if the other side has closed the pipe: then no process waits for the storm.
bool await_byte() {
    char byte = 0;
    return read(STDIN_FILENO, &byte, 1) == 1;
}

Result measure(Storm &storm, const std::array<Worker, kMostThreads> &workers) {
    const std::uint64_t faults = faults_so_far();
    const std::uint64_t begin = now_ns(CLOCK_MONOTONIC);
    pthread_barrier_wait(&storm.begin);
    pthread_barrier_wait(&storm.end);
    Result result{faults_so_far() - faults, now_ns(CLOCK_MONOTONIC) - begin, 0};
    for (unsigned i = 0; i < storm.threads; ++i)
        result.cpu_ns += workers[i].cpu_ns;
    return result;
}

void start(Storm &storm, std::array<Worker, kMostThreads> &workers) {
    for (pthread_barrier_t *barrier : {&storm.set_up, &storm.begin, &storm.end})
        pthread_barrier_init(barrier, nullptr, storm.threads + 1);
    for (unsigned i = 0; i < storm.threads; ++i) {
        workers[i].storm = &storm;
        if (pthread_create(&workers[i].handle, nullptr, work, &workers[i]) != 0) die("storm: pthread_create");
    }
    pthread_barrier_wait(&storm.set_up);
    // All that runs after `ready` has run once before it.
    if (json_of(storm, {faults_so_far(), now_ns(CLOCK_MONOTONIC), 0}).empty()) die("storm: no line");
}

/// A whole number from 1 to most, else 0.
unsigned whole_number(std::string_view text, unsigned most) {
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size() && value <= most ? value : 0;
}

bool parse(int argc, char **argv, Storm &storm) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--threads")
            storm.threads = whole_number(argv[i + 1], kMostThreads);
        else if (name == "--rounds")
            storm.rounds = whole_number(argv[i + 1], 1'000'000);
        else if (name == "--by-kernel")
            storm.by_kernel = std::string_view(argv[i + 1]) == "yes";
        else
            return false;
    }
    return argc % 2 == 1 && storm.threads != 0 && storm.rounds != 0;
}

}  // namespace

int main(int argc, char **argv) {
    static Storm storm;
    static std::array<Worker, kMostThreads> workers;
    if (!parse(argc, argv, storm)) {
        (void)std::fputs("usage: storm [--threads N] [--rounds N] [--by-kernel yes|no]\n", stderr);
        return 2;
    }
    storm.page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (!touch_program()) die("storm: /proc/self/maps");
    start(storm, workers);
    Line().text("ready ").number(static_cast<std::uint64_t>(getpid())).text("\n").put();
    if (!await_byte()) _exit(0);
    json_of(storm, measure(storm, workers)).put();
    (void)await_byte();
    _exit(0);
}
