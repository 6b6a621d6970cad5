// SPDX-License-Identifier: BSD-2-Clause
// Runs a fuzz target without libFuzzer, on a fixed sequence of inputs, which each machine repeats:
//   sample_recording INPUTS FILE...     FILE: seeds. The input that fails is written to ./failed-input.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "fuzz.h"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of libFuzzer and the sanitizers
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace {

using Input = std::vector<std::uint8_t>;

std::minstd_rand randomness(1);
std::size_t allocated = 0;
const Input *running = nullptr;  ///< for on_failure()

std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(randomness);
}

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Makes only async-signal-safe calls.
void on_failure(int signal) {
    const int file = open("failed-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (running != nullptr) [[maybe_unused]]
        const ssize_t written = write(file, running->data(), running->size());
    std::signal(signal, SIG_DFL);
    raise(signal);
}

void run(const Input &input) {
    constexpr double kSeconds = 10, kSecondsOfByte = 1 / 4e6;  // the promise of FileBudget
    running = &input;
    const double begin = cpu_seconds();
    LLVMFuzzerTestOneInput(input.data(), input.size());
    rsslag::fuzz::require(cpu_seconds() - begin < kSeconds + kSecondsOfByte * static_cast<double>(input.size()));
    running = nullptr;
}

Input content(const char *name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void *operator new(std::size_t size) {
    void *const bytes = std::malloc(size);
    if (bytes == nullptr) throw std::bad_alloc();
    allocated += malloc_usable_size(bytes);
    return bytes;
}

void operator delete(void *bytes) noexcept {
    allocated -= malloc_usable_size(bytes);
    std::free(bytes);
}

void operator delete(void *bytes, std::size_t /*size*/) noexcept {
    operator delete(bytes);
}

// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier): see above
extern "C" std::size_t __sanitizer_get_current_allocated_bytes() {
    return allocated;
}

// NOLINTNEXTLINE(readability-identifier-naming): see above
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most) {
    Input bytes(data, data + size);
    const auto at = [&bytes] { return bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() + 1)); };
    const auto some = static_cast<std::uint8_t>(below(256));
    if (bytes.empty() || (below(3) == 0 && size < most)) {
        bytes.insert(at(), some);
    } else if (below(2) == 0) {
        bytes[below(size)] = some;
    } else {
        auto from = at(), to = at();
        if (from > to) std::swap(from, to);
        bytes.erase(from, to);
    }
    std::copy(bytes.begin(), bytes.end(), data);
    return bytes.size();
}

int main(int argc, char **argv) {
    constexpr std::size_t kMost = 16'384, kPool = 512;
    if (argc < 3) return std::fputs("usage: sample_recording INPUTS FILE...\n", stderr), 2;
    LLVMFuzzerInitialize(&argc, &argv);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        std::signal(signal, on_failure);
    std::vector<Input> pool;
    for (int i = 2; i < argc; ++i)
        run(pool.emplace_back(content(argv[i])));
    const std::size_t seeds = pool.size();
    for (long left = std::atol(argv[1]); left > 0; --left) {
        Input input = pool[below(below(3) == 0 ? seeds : pool.size())];
        const std::size_t size = input.size();
        input.resize(kMost);
        input.resize(LLVMFuzzerCustomMutator(input.data(), size, kMost, static_cast<unsigned>(randomness())));
        run(input);
        // Changes add up, but the seeds stay.
        if (pool.size() < kPool)
            pool.push_back(std::move(input));
        else
            pool[seeds + below(kPool - seeds)] = std::move(input);
    }
    std::printf("%s inputs and %zu seeds in %.0f s of CPU time\n", argv[1], seeds, cpu_seconds());
    return 0;
}
