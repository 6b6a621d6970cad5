// SPDX-License-Identifier: BSD-2-Clause
#include "system/targets.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/glob.h"

namespace rsslag::system {
namespace {

using core::Kind;
using Pids = std::vector<pid_t>;

/// Whether the word is refused as BadInput, in one line with `why` and the invalid part in quotes.
testing::AssertionResult refused(const std::string &word, std::string_view why, const std::string &quoted) {
    const auto pids = parse_pids(word);
    if (pids.ok()) return testing::AssertionFailure() << "'" << word << "' was accepted";
    const core::Error &error = pids.error();
    if (error.kind != Kind::BadInput) return testing::AssertionFailure() << "is not BadInput";
    const bool right = error.what.find("'" + quoted + "' is not a PID") == 0 &&
                       error.what.find(why) != std::string::npos && error.what.find('\n') == std::string::npos &&
                       error.remedy.find("1 to 4194304") != std::string::npos;
    if (!right) return testing::AssertionFailure() << "says: " << error.what << "; " << error.remedy;
    return testing::AssertionSuccess();
}

Pids accepted(const std::string &word) {
    const auto pids = parse_pids(word);
    EXPECT_TRUE(pids.ok()) << pids.error().what;
    return pids.ok() ? *pids : Pids{};
}

TEST(ParsePids, TakesOneAndLists) {
    EXPECT_EQ(accepted("4711"), (Pids{4711}));
    EXPECT_EQ(accepted("1,2"), (Pids{1, 2}));
    EXPECT_EQ(accepted("3,1,3"), (Pids{3, 1, 3}));
    EXPECT_EQ(accepted("4194304"), (Pids{4'194'304}));
    EXPECT_EQ(accepted("007"), (Pids{7}));
}

TEST(ParsePids, RefusesWhatIsNoNumber) {
    for (const char *word : {"", "abc", "1x", "0x10", "1.5", "+1", "--1", "-"})
        EXPECT_TRUE(refused(word, "not a number", word));
}

TEST(ParsePids, RefusesWhatIsNotPositive) {
    EXPECT_TRUE(refused("0", "not positive", "0"));
    EXPECT_TRUE(refused("-1", "not positive", "-1"));
    EXPECT_TRUE(refused("-9223372036854775808", "not positive", "-9223372036854775808"));
}

TEST(ParsePids, RefusesWhatNoKernelNumbersSo) {
    EXPECT_TRUE(refused("4194305", "out of range", "4194305"));
    EXPECT_TRUE(refused("1099511627776", "out of range", "1099511627776"));
    EXPECT_TRUE(refused("4294967297", "out of range", "4294967297"));
    EXPECT_TRUE(refused("99999999999999999999999", "out of range", "99999999999999999999999"));
}

TEST(ParsePids, RefusesListsWithHoles) {
    EXPECT_TRUE(refused("1,,2", "not a number", ""));
    EXPECT_TRUE(refused("1,", "not a number", ""));
    EXPECT_TRUE(refused(",1", "not a number", ""));
    EXPECT_TRUE(refused(",", "not a number", ""));
    EXPECT_TRUE(refused("1,0", "not positive", "0"));
}

TEST(ParsePids, RefusesBlanks) {
    EXPECT_TRUE(refused(" 1", "not a number", " 1"));
    EXPECT_TRUE(refused("1 ", "not a number", "1 "));
    EXPECT_TRUE(refused("1, 2", "not a number", " 2"));
    EXPECT_TRUE(refused("1\n", "not a number", "1\\x0a"));
}

TEST(ParsePids, QuotesHostileWordsSafely) {
    EXPECT_TRUE(refused("\x1b[2J", "not a number", "\\x1b[2J"));
}

TEST(ParseUser, TakesNameAndNumber) {
    EXPECT_EQ(*parse_user("root"), 0U);
    EXPECT_EQ(*parse_user("12345"), 12345U);
    for (const char *const no_user : {"", "no such user", "12x", "-1", "4294967295", "4294967296"})
        EXPECT_FALSE(parse_user(no_user)) << no_user;
}

TEST(ParseGroup, TakesNameAndNumber) {
    EXPECT_EQ(*parse_group("root"), 0U);
    EXPECT_EQ(*parse_group("12345"), 12345U);
    for (const char *const no_group : {"", "no such group", "12x", "-1", "4294967295", "4294967296"})
        EXPECT_FALSE(parse_group(no_group)) << no_group;
}

TEST(Matches, KnowsShellPatterns) {
    EXPECT_TRUE(core::matches("nginx", "nginx"));
    EXPECT_FALSE(core::matches("nginx", "nginx2"));
    EXPECT_FALSE(core::matches("ngin", "nginx"));
    EXPECT_TRUE(core::matches("ng*", "nginx"));
    EXPECT_TRUE(core::matches("*", ""));
    EXPECT_TRUE(core::matches("pos[tg]*", "postgres"));
    EXPECT_TRUE(core::matches("?at", "cat"));
    EXPECT_FALSE(core::matches("?at", "at"));
    EXPECT_FALSE(core::matches("NGINX", "nginx"));
}

TEST(Matches, TakesPathsWhole) {
    EXPECT_TRUE(core::matches("/usr/bin/*", "/usr/bin/sleep"));
    EXPECT_TRUE(core::matches("*/sleep", "/usr/bin/sleep"));
    EXPECT_FALSE(core::matches("sleep", "/usr/bin/sleep"));
}

TEST(TargetArguments, AreEmptyOnlyWithoutAnyWord) {
    EXPECT_TRUE(TargetArguments{}.empty());
    TargetArguments arguments;
    arguments.pids = {"1"};
    EXPECT_FALSE(arguments.empty());
    arguments = {};
    arguments.comms = {"x"};
    EXPECT_FALSE(arguments.empty());
    arguments = {};
    arguments.cgroup = "/";
    EXPECT_FALSE(arguments.empty());
    arguments = {};
    arguments.user = "root";
    EXPECT_FALSE(arguments.empty());
}

TEST(TargetArguments, HaveAPatternIfTheyCanMatchMoreProcessesLater) {
    TargetArguments arguments;
    arguments.plain = {"1"};
    arguments.pids = {"2"};
    EXPECT_FALSE(arguments.has_pattern()) << "a PID matches one process only";
    arguments.comms = {"nginx"};
    EXPECT_TRUE(arguments.has_pattern());
    TargetArguments cgroup;
    cgroup.cgroup = "/x";
    EXPECT_TRUE(cgroup.has_pattern());
}

TEST(Matching, LeavesOutProcessesThatAreKnown) {
    TargetArguments arguments;
    arguments.user = std::to_string(getuid());
    const pid_t parent = getppid();
    const auto all = matching(arguments, {});
    ASSERT_TRUE(all.ok()) << all.error().what;
    EXPECT_EQ(std::ranges::count(*all, parent), 1);
    const auto others = matching(arguments, {parent});
    ASSERT_TRUE(others.ok()) << others.error().what;
    EXPECT_EQ(std::ranges::count(*others, parent), 0);
    arguments.comms = {"no such name at all"};
    const auto none = matching(arguments, {parent});
    ASSERT_TRUE(none.ok()) << none.error().what;
    EXPECT_TRUE(none->empty());
}

TEST(Resolve, GivesNamedPidsAscendingAndOnce) {
    const std::string own = std::to_string(getpid());
    TargetArguments arguments;
    arguments.pids = {own + "," + own, own};
    const auto targets = resolve(arguments);
    ASSERT_TRUE(targets.ok()) << targets.error().what;
    ASSERT_EQ(targets->size(), 1U);
    EXPECT_EQ(targets->front().pid, getpid());
    EXPECT_TRUE(targets->front().named);
}

TEST(Resolve, SaysWhereNothingMatches) {
    TargetArguments arguments;
    arguments.comms = {"no such name at all"};
    const auto targets = resolve(arguments);
    ASSERT_FALSE(targets.ok());
    EXPECT_EQ(targets.error().kind, Kind::Gone);
}

/// Leaves this process one free descriptor until its destructor.
class OneDescriptor {
  public:
    OneDescriptor() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const int lowest = dup(STDERR_FILENO);
        close(lowest);
        const rlimit one{static_cast<rlim_t>(lowest) + 1, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &one);
    }
    ~OneDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
    OneDescriptor(const OneDescriptor &) = delete;
    OneDescriptor &operator=(const OneDescriptor &) = delete;

  private:
    rlimit before_{};
};

TEST(Resolve, DoesNotTakeALackOfDescriptorsForNoMatch) {
    TargetArguments arguments;
    arguments.comms = {"*"};
    const OneDescriptor left;
    const auto targets = resolve(arguments);
    ASSERT_FALSE(targets.ok());
    EXPECT_EQ(targets.error().kind, Kind::Io) << targets.error().what;
    EXPECT_EQ(targets.error().err, EMFILE);
}

TEST(WhyUnreadable, IsNotThatTheProcessHasEndedWithoutAFreeDescriptor) {
    const OneDescriptor left;
    const auto own = procfs::Process::open(getpid());  // takes it
    ASSERT_TRUE(own);
    const auto why = why_unreadable(*own);
    ASSERT_TRUE(why);
    EXPECT_EQ(why->kind, Kind::Io) << why->what;
}

TEST(WhyNotRead, IsNotThatALivingProcessHasEnded) {
    for (const Kind kind : {Kind::Gone, Kind::Unsupported}) {
        const auto why = why_not_read(getpid(), {kind, "it keeps executing", 0, ""});
        EXPECT_EQ(why.kind, Kind::Denied);
        EXPECT_EQ(why.what, "it keeps executing");
        EXPECT_NE(why.remedy.find("rsslag snapshot " + std::to_string(getpid())), std::string::npos) << why.remedy;
    }
    EXPECT_EQ(why_not_read(getpid(), {Kind::Io, "too many", 0, ""}).kind, Kind::Io);
    constexpr pid_t kNone = 4 * 1024 * 1024;  // PID_MAX_LIMIT: no process has it
    EXPECT_EQ(why_not_read(kNone, {Kind::Io, "too many", 0, ""}).kind, Kind::Gone);
}

TEST(Resolve, RefusesAUserThatDoesNotExist) {
    TargetArguments arguments;
    arguments.user = "no such\nuser";
    const auto targets = resolve(arguments);
    ASSERT_FALSE(targets.ok());
    EXPECT_EQ(targets.error().kind, Kind::BadInput);
    EXPECT_NE(targets.error().what.find("no such\\x0auser"), std::string::npos) << targets.error().what;
}

}  // namespace
}  // namespace rsslag::system
