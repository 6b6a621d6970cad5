// SPDX-License-Identifier: BSD-2-Clause
// Touches memory in three functions, 10, 30 and 60 % of it, and drops the first part in a fourth. Then it waits until
// stdin ends. With "held" it waits for a byte before it touches, and writes a line after it has dropped; for each
// further byte it drops the rest and does all of it again.
// With "deep" it is as with "held", and the functions are called with 16 KiB on the stack. With "moved" it is as with
// "held", and after each round mremap moves the memory to another address.
// WITHOUT_MAIN: a library with the functions. WITHOUT_FUNCTIONS: a program that calls those of the library.
//   by_function MIB [held|deep|moved]
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kPage = 4096;

#ifndef WITHOUT_FUNCTIONS
// Otherwise the last call of a function would be a jump, and the function would not be on the stack.
void keep_frame() {
    asm volatile("" ::: "memory");
}

inline __attribute__((always_inline)) void touch(char *memory, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kPage)
        static_cast<volatile char *>(memory)[at] = 1;
}
#endif

}  // namespace

extern "C" {
void touch_and_drop(char *memory, std::size_t tenth);
void below(int frames, char *memory, std::size_t tenth);

#ifndef WITHOUT_FUNCTIONS
/// Calls touch_and_drop() below that many frames of half a KiB.
[[gnu::noinline]] void below(int frames, char *memory, std::size_t tenth) {
    volatile char frame[512];
    frame[0] = 0;
    if (frames > 1)
        below(frames - 1, memory, tenth);
    else
        touch_and_drop(memory, tenth);
    keep_frame();
}

[[gnu::noinline]] void touch_ten(char *memory, std::size_t tenth) {
    touch(memory, tenth);
    keep_frame();
}
[[gnu::noinline]] void touch_thirty(char *memory, std::size_t tenth) {
    touch(memory, 3 * tenth);
    keep_frame();
}
[[gnu::noinline]] void touch_sixty(char *memory, std::size_t tenth) {
    touch(memory, 6 * tenth);
    keep_frame();
}
[[gnu::noinline]] void drop_ten(char *memory, std::size_t tenth) {
    madvise(memory, tenth, MADV_DONTNEED);
    keep_frame();
}
inline __attribute__((always_inline)) void touch_and_drop_here(char *memory, std::size_t tenth) {
    touch_ten(memory, tenth);
    touch_thirty(memory + tenth, tenth);
    touch_sixty(memory + 4 * tenth, tenth);
    drop_ten(memory, tenth);
}
[[gnu::noinline]] void touch_and_drop(char *memory, std::size_t tenth) {
    touch_and_drop_here(memory, tenth);
    keep_frame();
}
#else
inline void touch_and_drop_here(char *memory, std::size_t tenth) {
    touch_and_drop(memory, tenth);
}
#endif
}

#ifndef WITHOUT_MAIN
/// nullptr: it cannot be moved.
char *moved(char *memory, std::size_t bytes) {
    void *const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return nullptr;
    void *const now = mremap(memory, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    return now == MAP_FAILED ? nullptr : static_cast<char *>(now);
}

int main(int count, char **words) {
    const std::size_t tenth = (count > 1 ? std::strtoul(words[1], nullptr, 10) : 10) * (1 << 20) / 10 / kPage * kPage;
    void *const all = mmap(nullptr, 10 * tenth, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 1;
    madvise(all, 10 * tenth, MADV_NOHUGEPAGE);
    auto *memory = static_cast<char *>(all);
    const bool held = count > 2;
    const int frames = held && std::strcmp(words[2], "deep") == 0 ? 32 : 0;
    const bool moves = held && std::strcmp(words[2], "moved") == 0;
    char byte = 0;
    for (bool again = false; !again || held; again = true) {
        if (held && read(STDIN_FILENO, &byte, 1) != 1) return again ? 0 : 1;
        if (again) madvise(memory, 10 * tenth, MADV_DONTNEED);
        if (frames > 0)
            below(frames, memory, tenth);
        else
            touch_and_drop_here(memory, tenth);
        if (moves) memory = moved(memory, 10 * tenth);
        if (memory == nullptr) return 1;
        if (held && write(STDOUT_FILENO, "done\n", 5) != 5) return 1;
    }
    return read(STDIN_FILENO, &byte, 1) < 0 ? 1 : 0;
}
#endif
