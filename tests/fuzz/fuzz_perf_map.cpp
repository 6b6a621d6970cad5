// SPDX-License-Identifier: BSD-2-Clause
// A map of a JIT's functions, which grows between two readings.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/fd.h"
#include "fuzz.h"
#include "unwind/perf_map.h"

using rsslag::fuzz::require;
using rsslag::unwind::PerfMap;

namespace {

/// A file that is removed at the end.
struct Temporary {
    std::string path = "/tmp/rsslag-fuzz-XXXXXX";
    int fd = mkstemp(path.data());

    Temporary() { require(fd >= 0); }
    ~Temporary() {
        close(fd);
        unlink(path.c_str());
    }
    Temporary(const Temporary &) = delete;
    Temporary &operator=(const Temporary &) = delete;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Temporary file;
    const std::string_view input = rsslag::fuzz::as_text(data, size);
    const auto append = [](std::string_view part) { require(rsslag::core::write_all(file.fd, part) == 0); };
    require(ftruncate(file.fd, 0) == 0 && lseek(file.fd, 0, SEEK_SET) == 0);
    PerfMap whole("/", file.path, geteuid()), in_two("/", file.path, geteuid());
    const std::size_t half = size == 0 ? 0 : data[0] * size / 256;
    append(input.substr(0, half));
    in_two.update();
    append(input.substr(half));
    in_two.update();
    whole.update();
    for (std::uint64_t address = 0; address < 4096; ++address) {
        const std::string &name = whole.function_at(address);
        require(name.size() <= PerfMap::kMostName && name.find('\n') == std::string::npos);
        require(in_two.function_at(address) == name);
    }
    return 0;
}
