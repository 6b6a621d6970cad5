// SPDX-License-Identifier: BSD-2-Clause
// Processes and threads that start and end in every way, for tests of the attribution to tasks:
// lifecycle forks|execs|thread-execs|spawns|threads|one-site N, lifecycle touch FILE THREADS ANON SHMEM FILE-PAGES.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "../bench/touch_program.h"

namespace {

constexpr std::size_t kPage = 4096;

[[noreturn]] void die(const char *what) {
    std::perror(what);
    std::_Exit(1);
}

char *map(std::size_t pages, int flags, int fd) {
    void *const at = mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED) die("mmap");
    madvise(at, pages * kPage, MADV_NOHUGEPAGE);
    return static_cast<char *>(at);
}

void touch(char *at, std::size_t pages) {
    for (std::size_t i = 0; i < pages; ++i)
        *static_cast<volatile char *>(at + i * kPage) = 1;
}

void reap(pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) die("child");
}

void forks(int count) {
    touch(map(64, MAP_PRIVATE | MAP_ANONYMOUS, -1), 64);
    for (int i = 0; i < count; ++i) {
        const pid_t pid = fork();
        if (pid < 0) die("fork");
        if (pid == 0) {
            touch(map(32, MAP_PRIVATE | MAP_ANONYMOUS, -1), 32);
            _exit(0);
        }
        reap(pid);
    }
}

std::string own_path() {
    char path[4096] = {};
    if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0) die("readlink");
    return path;
}

/// Executes itself again, through directories that do not contain it.
[[noreturn]] void exec_again(const char *what, int count) {
    const std::string path = own_path();
    const std::size_t slash = path.rfind('/');
    setenv("PATH", ("/nonexistent:/dev/null:/proc:" + path.substr(0, slash)).c_str(), 1);
    const char *const name = path.c_str() + slash + 1;
    const std::string left = std::to_string(count - 1);
    execlp(name, name, what, left.c_str(), nullptr);
    die("exec");
}

void execs(int count) {
    touch(map(40, MAP_PRIVATE | MAP_ANONYMOUS, -1), 40);
    if (count > 0) exec_again("execs", count);
}

/// exec of a thread that is not the leader: the thread gets the leader's TID.
void thread_execs(int count) {
    if (count <= 0) return;
    std::thread([count] {
        touch(map(40, MAP_PRIVATE | MAP_ANONYMOUS, -1), 40);
        exec_again("thread-execs", count);
    }).join();
}

void spawns(int count) {
    const std::string path = own_path();
    char name[] = "lifecycle", what[] = "forks", none[] = "0";
    char *argv[] = {name, what, none, nullptr};
    for (int i = 0; i < count; ++i) {
        pid_t pid = 0;
        if (posix_spawn(&pid, path.c_str(), nullptr, nullptr, argv, environ) != 0) die("posix_spawn");
        reap(pid);
    }
}

void threads(int count) {
    for (int i = 0; i < count; ++i) {
        std::thread([] {
            char *const at = map(8, MAP_PRIVATE | MAP_ANONYMOUS, -1);
            touch(at, 8);
            munmap(at, 8 * kPage);
        }).join();
    }
}

/// One instruction for all system calls, as in Go's runtime.
__attribute__((noinline)) long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                                    long f = 0) {
#if defined(__x86_64__)
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
    return syscall(number, a, b, c, d, e, f);
#endif
}

long number_of(const void *at) {
    return static_cast<long>(reinterpret_cast<std::uintptr_t>(at));
}

/// Faults of the kernel itself: one when read(2) writes to an untouched page, and one that fails. The changes after
/// them from the same instruction have no fault: 64 pages are unmapped each time, then 300 are mapped together.
void one_site(int count) {
    constexpr long kPages = 64, kPopulated = 300, kBytes = 512;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) die("open");
    char *const fresh = map(static_cast<std::size_t>(count), MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *const none = map(1, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (mprotect(none, kPage, PROT_NONE) != 0) die("mprotect");
    std::printf("{\"fresh\":%ld,\"none\":%ld}\n", number_of(fresh), number_of(none));
    std::fflush(stdout);
    for (int i = 0; i < count; ++i) {
        for (char *const into : {fresh + i * kPage, none}) {
            char *const pages = map(kPages, MAP_PRIVATE | MAP_ANONYMOUS, -1);
            touch(pages, kPages);
            const long got = call(SYS_pread64, fd, number_of(into), kBytes, 0);
            if ((got == kBytes) != (into != none)) die("pread64");
            if (call(SYS_munmap, number_of(pages), kPages * static_cast<long>(kPage)) != 0) die("munmap");
            const long populated = call(SYS_mmap, 0, kPopulated * static_cast<long>(kPage), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            if (populated < 0 && populated > -4096) die("mmap");
            if (call(SYS_munmap, populated, kPopulated * static_cast<long>(kPage)) != 0) die("munmap");
        }
    }
}

struct Share {
    std::size_t anon, shmem, file;
};

/// One thread after another touches its share, and none ends. Prints "ready" after the last one; ends with its input.
void touch_in_turn(const char *path, int count, const Share &share) {
    // So that no thread is the first to touch a page of the program, even if the page cache had little of it.
    if (!touch_program()) die("/proc/self/maps");
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(share.file * kPage) * count) != 0) die(path);
    std::counting_semaphore<> done{0}, over{0};
    std::vector<std::thread> workers;
    for (int i = 0; i < count; ++i) {
        workers.emplace_back([&] {
            touch(map(share.anon, MAP_PRIVATE | MAP_ANONYMOUS, -1), share.anon);
            touch(map(share.shmem, MAP_SHARED | MAP_ANONYMOUS, -1), share.shmem);
            void *const at = mmap(nullptr, share.file * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                                  static_cast<off_t>(share.file * kPage) * i);
            if (at == MAP_FAILED) die("mmap of a file");
            touch(static_cast<char *>(at), share.file);
            done.release();
            over.acquire();
        });
        done.acquire();
    }
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) die("write");
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    over.release(count);
    for (std::thread &worker : workers)
        worker.join();
}

}  // namespace

int main(int argc, char **argv) {
    const std::string what = argc > 2 ? argv[1] : "";
    const int count = argc == 3 ? std::atoi(argv[2]) : 0;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // else the stack of a thread may be on a huge page, by its address
    if (what == "forks") {
        forks(count);
    } else if (what == "execs") {
        execs(count);
    } else if (what == "thread-execs") {
        thread_execs(count);
    } else if (what == "spawns") {
        spawns(count);
    } else if (what == "threads") {
        threads(count);
    } else if (what == "one-site") {
        one_site(count);
    } else if (what == "touch" && argc == 7) {
        const auto pages = [argv](int i) { return static_cast<std::size_t>(std::atoi(argv[i])); };
        touch_in_turn(argv[2], std::atoi(argv[3]), {pages(4), pages(5), pages(6)});
    } else {
        std::fputs(
            "lifecycle: forks|execs|thread-execs|spawns|threads|one-site N, or touch FILE THREADS ANON SHMEM "
            "FILE-PAGES\n",
            stderr);
        return 2;
    }
    return 0;
}
