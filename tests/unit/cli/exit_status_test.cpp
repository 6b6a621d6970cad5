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

TEST(Fail, SaysNothingOfARemedyThatThereIsNot) {
    testing::internal::CaptureStderr();
    const int status = fail({Kind::BadInput, "that makes no sense", 0, ""});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "rsslag: that makes no sense\n");
    EXPECT_EQ(status, 2);
}

}  // namespace
}  // namespace rsslag::cli
