// SPDX-License-Identifier: BSD-2-Clause
#include "golden.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "../paths.h"

namespace rsslag::documents::test {
namespace {

std::string first_difference(const std::string &golden, const std::string &actual) {
    std::istringstream expected(golden);
    std::istringstream found(actual);
    std::string expected_line;
    std::string found_line;
    for (int line = 1;; ++line) {
        const bool more_expected = static_cast<bool>(std::getline(expected, expected_line));
        const bool more_found = static_cast<bool>(std::getline(found, found_line));
        if (!more_expected && !more_found) return "the last newline";
        if (more_expected && more_found && expected_line == found_line) continue;
        return "line " + std::to_string(line) + "\n-" + (more_expected ? expected_line : "(end)") + "\n+" +
               (more_found ? found_line : "(end)");
    }
}

}  // namespace

testing::AssertionResult is_golden(const std::string &actual, const std::string &name) {
    const std::string path = source_path("tests/unit/documents/golden/") + name;
    std::ifstream file(path, std::ios::binary);
    const std::string golden{std::istreambuf_iterator<char>(file), {}};
    if (file && golden == actual) return testing::AssertionSuccess();
    const std::string written = testing::TempDir() + "rsslag_actual_" + name;
    std::ofstream(written, std::ios::binary) << actual;
    return testing::AssertionFailure() << "differs in " << first_difference(golden, actual) << "\nsee: diff -u " << path
                                       << ' ' << written;
}

}  // namespace rsslag::documents::test
