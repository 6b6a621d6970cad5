// SPDX-License-Identifier: BSD-2-Clause
// Runs a fuzz target without libFuzzer, on a fixed sequence of inputs, which each machine repeats:
//   sample_recording INPUTS SEED FILE...     SEED: of the random numbers. FILE: inputs to start from.
// The input that fails is written to ./failed-input-SEED.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): names of libFuzzer
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);
// NOLINTEND(readability-identifier-naming)

namespace {

using Input = std::vector<std::uint8_t>;

std::minstd_rand randomness(1);
const Input *running = nullptr;  ///< for on_failure()
std::string failed_name = "failed-input-";

std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(randomness);
}

/// Makes only async-signal-safe calls.
void on_failure(int signal) {
    const int file = open(failed_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (running != nullptr) [[maybe_unused]]
        const ssize_t written = write(file, running->data(), running->size());
    std::signal(signal, SIG_DFL);
    raise(signal);
}

void run(const Input &input) {
    running = &input;
    LLVMFuzzerTestOneInput(input.data(), input.size());
    running = nullptr;
}

Input content(const char *name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

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
    if (argc < 4) return std::fputs("usage: sample_recording INPUTS SEED FILE...\n", stderr), 2;
    randomness.seed(static_cast<unsigned>(std::atol(argv[2])));
    failed_name += argv[2];
    LLVMFuzzerInitialize(&argc, &argv);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        std::signal(signal, on_failure);
    std::vector<Input> pool;
    for (int i = 3; i < argc; ++i) {
        run(pool.emplace_back(content(argv[i])));
        if (pool.back().empty()) return std::fprintf(stderr, "%s is empty, or cannot be read\n", argv[i]), 2;
    }
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
    std::printf("%s inputs and %zu seeds\n", argv[1], seeds);
    return 0;
}
