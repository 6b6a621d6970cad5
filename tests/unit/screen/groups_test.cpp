// SPDX-License-Identifier: BSD-2-Clause
#include "screen/groups.h"

#include <gtest/gtest.h>

namespace rsslag::screen {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(Groups, NameContainersBriefly) {
    EXPECT_EQ(cgroup_text("/system.slice/ssh.service"), "system.slice/ssh.service");
    EXPECT_EQ(cgroup_text("/"), "/");
    EXPECT_EQ(cgroup_text(""), "cgroup not known");
    for (const std::string &path : {"/system.slice/docker-" + kId + ".scope", "/machine.slice/libpod-" + kId + ".scope",
                                    "/kubepods.slice/cri-containerd-" + kId + ".scope", "/docker/" + kId})
        EXPECT_EQ(cgroup_text(path), "container 0123456789ab") << path;
    EXPECT_EQ(cgroup_text("/docker-" + kId + "x.scope"), "docker-" + kId + "x.scope");
    EXPECT_EQ(cgroup_text("/docker-0123.scope"), "docker-0123.scope");
}

TEST(Groups, AreInTheOrderOfTheirFirstRows) {
    const std::vector<Group> groups = groups_of({"/b", "/a", "/b", "", "/a"});
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].cgroup, "/b");
    EXPECT_EQ(groups[0].rows, (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(groups[1].rows, (std::vector<std::size_t>{1, 4}));
    EXPECT_EQ(groups[2].cgroup, "");
    EXPECT_LT(group_id("/a"), -1);
    EXPECT_NE(group_id("/a"), group_id("/b"));
}

TEST(Groups, ShapesFollowEachOther) {
    EXPECT_EQ(next(Shape::Flat, true), Shape::Parents);
    EXPECT_EQ(next(Shape::Parents, true), Shape::Cgroups);
    EXPECT_EQ(next(Shape::Parents, false), Shape::Flat);
    EXPECT_EQ(next(Shape::Cgroups, true), Shape::Flat);
}

}  // namespace
}  // namespace rsslag::screen
