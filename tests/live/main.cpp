// SPDX-License-Identifier: BSD-2-Clause
// live_test --rsslag PATH [--scheme thread|cpu] [--status flushed|exact] [gtest flags]
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "run.h"

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    using rsslag::live::expected;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i];
        if (option == "--rsslag") expected.rsslag = argv[i + 1];
        if (option == "--scheme") expected.scheme = argv[i + 1];
        if (option == "--status") expected.status = argv[i + 1];
    }
    const auto doctor = rsslag::live::run({expected.rsslag, "doctor"});
    if (doctor.status != 0) {
        std::printf("skipped: tracing does not work here:\n%s%s", doctor.out.c_str(), doctor.err.c_str());
        return 77;
    }
    return RUN_ALL_TESTS();
}
