// SPDX-License-Identifier: BSD-2-Clause
#include "cli/exit_status.h"

#include <gtest/gtest.h>

namespace rsslag::cli {
namespace {

using core::Kind;

TEST(ExitStatus, IsTwoForWhatTheUserCannotMean) {
    EXPECT_EQ(exit_status(Kind::BadInput), 2);
    EXPECT_EQ(exit_status(Kind::Corrupt), 2);
}

TEST(ExitStatus, IsThreeForWhatIsNotAllowedHere) {
    EXPECT_EQ(exit_status(Kind::Denied), 3);
    EXPECT_EQ(exit_status(Kind::Unsupported), 3);
    EXPECT_EQ(exit_status(Kind::Gone), 3);
}

TEST(ExitStatus, IsOneForWhatFailed) {
    EXPECT_EQ(exit_status(Kind::Io), 1);
    EXPECT_EQ(exit_status(Kind::Internal), 1);
}

TEST(Fail, WritesOneLineWithTheRemedyAndGivesTheStatus) {
    testing::internal::CaptureStderr();
    const int status = fail({Kind::Denied, "it is refused", 1, "ask somebody"});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "rsslag: it is refused; ask somebody\n");
    EXPECT_EQ(status, 3);
}

TEST(UnreadText, IsTheReasonOfOneProcess) {
    EXPECT_EQ(unread_text({{12, "cannot read /proc/12/smaps: Permission denied; run rsslag with sudo"}}),
              "cannot read /proc/12/smaps: Permission denied; run rsslag with sudo");
}

TEST(UnreadText, IsOneLineForAnyNumberOfProcesses) {
    std::vector<core::FailedTarget> unread{{12, "cannot read 12"}, {13, "cannot read 13"}};
    EXPECT_EQ(unread_text(unread), "2 processes were not read: 12 13; the reason for the first: cannot read 12");
    for (int pid = 14; pid < 50; ++pid)
        unread.push_back({pid, "cannot read it"});
    EXPECT_EQ(
        unread_text(unread),
        "38 processes were not read: 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 ...; the reason for "
        "the first: cannot read 12");
}

TEST(Fail, SaysNothingOfARemedyThatThereIsNot) {
    testing::internal::CaptureStderr();
    const int status = fail({Kind::BadInput, "that makes no sense", 0, ""});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "rsslag: that makes no sense\n");
    EXPECT_EQ(status, 2);
}

}  // namespace
}  // namespace rsslag::cli
