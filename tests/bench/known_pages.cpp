// SPDX-License-Identifier: BSD-2-Clause
// Threads that each end with a known number of pages, with which a test compares the net of each thread. Each thread
// maps a region of each requested kind, touches and drops it for a number of rounds, touches it once more and sleeps.
// Like the storm, the program prints `ready PID` when it is set up, starts at a byte on stdin, prints `rest` once all
// threads sleep, and ends at the next byte. The other memory of a thread (its stack, its code) is touched before
// `ready`, so that after it the net of a thread is exactly --pages of each kind.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "touch_program.h"

namespace {

constexpr unsigned kMostThreads = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kKinds = 3;

enum Kind : unsigned { kAnon = 1, kFile = 2, kShmem = 4 };

struct Work {
    unsigned threads = 2;
    unsigned rounds = 100;
    unsigned pages = 200;
    unsigned kinds = kAnon;
    bool pinned = false;
    int file = -1;
    pthread_barrier_t set_up{}, begin{}, rest{};
};

struct Worker {
    Work *work = nullptr;
    unsigned number = 0;
    pthread_t handle{};
};

[[noreturn]] void die(const char *what) {
    std::perror(what);
    _exit(1);
}

/// One mapping of the worker: `written` pages are touched by a store, others by a load.
struct Region {
    volatile unsigned char *bytes = nullptr;
    bool written = true;
};

Region map_region(Kind kind, const Work &work) {
    const std::size_t bytes = work.pages * kPage;
    int fd = -1;
    if (kind == kShmem) {
        fd = memfd_create("known", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) die("known_pages: memfd");
    } else if (kind == kFile) {
        fd = work.file;
    }
    const int flags = kind == kAnon ? MAP_PRIVATE | MAP_ANONYMOUS : kind == kFile ? MAP_PRIVATE : MAP_SHARED;
    void *const at = mmap(nullptr, bytes, kind == kFile ? PROT_READ : PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED) die("known_pages: mmap");
    if (kind == kShmem) close(fd);
    (void)madvise(at, bytes, MADV_NOHUGEPAGE);
    return {static_cast<volatile unsigned char *>(at), kind != kFile};
}

void touch(const Region &region, unsigned pages) {
    for (std::size_t at = 0; at < pages * kPage; at += kPage) {
        if (region.written) {
            region.bytes[at] = 1;
        } else {
            (void)region.bytes[at];
        }
    }
}

void drop(const Region &region, unsigned pages) {
    if (madvise(const_cast<unsigned char *>(region.bytes), pages * kPage, MADV_DONTNEED) != 0)
        die("known_pages: madvise");
}

/// Touches the pages of the stack below this frame, so that none of them is new later.
[[gnu::noinline]] void touch_stack() {
    std::array<volatile unsigned char, 16 * kPage> below;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (std::size_t at = 0; at < below.size(); at += kPage)
        below.at(at) = 1;
}

void *run_worker(void *argument) {
    const Worker &self = *static_cast<Worker *>(argument);
    Work &work = *self.work;
    if (work.pinned) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(self.number % static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)), &cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) die("known_pages: sched_setaffinity");
    }
    std::array<Region, kKinds> regions;
    std::size_t count = 0;
    for (const Kind kind : {kAnon, kFile, kShmem}) {
        if ((work.kinds & kind) != 0) regions.at(count++) = map_region(kind, work);
    }
    std::array<char, 16> name{};
    std::snprintf(name.data(), name.size(), "known%u", self.number);
    pthread_setname_np(pthread_self(), name.data());
    touch_stack();
    // One round before those that count, so that the file is in the page cache.
    for (std::size_t at = 0; at < count; ++at) {
        touch(regions.at(at), work.pages);
        drop(regions.at(at), work.pages);
    }
    pthread_barrier_wait(&work.set_up);
    pthread_barrier_wait(&work.begin);
    for (unsigned round = 0; round < work.rounds; ++round) {
        for (std::size_t at = 0; at < count; ++at) {
            touch(regions.at(at), work.pages);
            drop(regions.at(at), work.pages);
        }
    }
    for (std::size_t at = 0; at < count; ++at)
        touch(regions.at(at), work.pages);
    pthread_barrier_wait(&work.rest);
    for (;;)
        pause();
}

unsigned number_after(std::string_view text) {
    unsigned value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc{} || end.ptr != text.data() + text.size() || value == 0) die("known_pages: a number");
    return value;
}

unsigned kinds_of(std::string_view text) {
    unsigned kinds = 0;
    if (text.find("anon") != text.npos) kinds |= kAnon;
    if (text.find("file") != text.npos) kinds |= kFile;
    if (text.find("shmem") != text.npos) kinds |= kShmem;
    return kinds;
}

int backing_file(const Work &work, const char *directory) {
    std::array<char, 256> path{};
    std::snprintf(path.data(), path.size(), "%s/known-pages-XXXXXX", directory);
    const int fd = mkstemp(path.data());
    if (fd < 0) die("known_pages: mkstemp");
    unlink(path.data());
    std::array<char, kPage> page{};
    page.fill(1);
    for (unsigned at = 0; at < work.pages; ++at) {
        if (write(fd, page.data(), page.size()) != static_cast<ssize_t>(page.size())) die("known_pages: write");
    }
    return fd;
}

/// Waits for a byte, without stdio: its buffers would be pages of the main thread's.
void wait_for_byte() {
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) <= 0) _exit(0);
}

void say(std::string_view text) {
    if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
}

}  // namespace

int main(int argc, char **argv) {
    Work shared;
    const char *directory = "/var/tmp";
    for (int at = 1; at + 1 < argc; at += 2) {
        const std::string_view option = argv[at];
        if (option == "--threads") shared.threads = number_after(argv[at + 1]);
        if (option == "--rounds") shared.rounds = number_after(argv[at + 1]);
        if (option == "--pages") shared.pages = number_after(argv[at + 1]);
        if (option == "--kinds") shared.kinds = kinds_of(argv[at + 1]);
        if (option == "--pinned") shared.pinned = std::string_view(argv[at + 1]) == "yes";
        if (option == "--directory") directory = argv[at + 1];
    }
    if (shared.threads > kMostThreads || shared.kinds == 0) die("known_pages: too many threads, or no kind");
    if ((shared.kinds & kFile) != 0) shared.file = backing_file(shared, directory);
    if (!touch_program()) die("known_pages: /proc/self/maps");
    for (pthread_barrier_t *barrier : {&shared.set_up, &shared.begin, &shared.rest})
        pthread_barrier_init(barrier, nullptr, shared.threads + 1);
    std::array<Worker, kMostThreads> workers;
    for (unsigned at = 0; at < shared.threads; ++at) {
        workers.at(at).work = &shared;
        workers.at(at).number = at;
        if (pthread_create(&workers.at(at).handle, nullptr, run_worker, &workers.at(at)) != 0)
            die("known_pages: pthread_create");
    }
    pthread_barrier_wait(&shared.set_up);
    std::array<char, 32> ready{};
    const int length = std::snprintf(ready.data(), ready.size(), "ready %d\n", getpid());
    say({ready.data(), static_cast<std::size_t>(length)});
    wait_for_byte();
    pthread_barrier_wait(&shared.begin);
    pthread_barrier_wait(&shared.rest);
    say("rest\n");
    wait_for_byte();
    _exit(0);
}
