// SPDX-License-Identifier: BSD-2-Clause
#include "system/mount.h"

#include <gtest/gtest.h>

namespace rsslag::system {
namespace {

constexpr const char *kMountinfo =
    "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
    "31 25 0:28 / /run/rsslag rw,nosuid,nodev,noexec,relatime shared:7 - bpf rsslag-dir rw\n"
    "32 25 0:29 / /tmp/a\\040-\\040b rw - bpf rsslag rw,mode=700\n"
    "3 25 0:30 / /mnt rw - tmpfs rsslag rw\n";

TEST(Mount, IsKnownByItsNumberAndType) {
    EXPECT_EQ(bpffs_source(kMountinfo, 31), "rsslag-dir");
    EXPECT_EQ(bpffs_source(kMountinfo, 32), "rsslag");
    EXPECT_EQ(bpffs_source(kMountinfo, 3), std::nullopt);
    EXPECT_EQ(bpffs_source(kMountinfo, 22), std::nullopt);
    EXPECT_EQ(bpffs_source(kMountinfo, 1), std::nullopt);
}

TEST(Mount, IsNotFoundInTextThatIsNone) {
    for (const char *text : {"", "\n", "31", "31 - ", "x 25 - bpf rsslag rw", "31 25 0:28 / /run"})
        EXPECT_EQ(bpffs_source(text, 31), std::nullopt) << text;
}

}  // namespace
}  // namespace rsslag::system
