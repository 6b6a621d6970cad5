// SPDX-License-Identifier: BSD-2-Clause
#include "probe/denial.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rsslag::probe {
namespace {

using core::Error;
using core::Kind;

Privileges capable() {
    Privileges privileges;
    privileges.cap_bpf = true;
    privileges.cap_perfmon = true;
    return privileges;
}

/// Checks what every message must have: one line, the errno, a remedy.
Error explained(int err, const Privileges &privileges) {
    Error error = explain_denial(err, privileges, "/opt/rsslag");
    EXPECT_EQ(error.err, err);
    EXPECT_FALSE(error.remedy.empty());
    EXPECT_EQ((error.what + error.remedy).find('\n'), std::string::npos);
    return error;
}

bool contains(const std::string &text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(Privileges, NameTheCapabilitiesThatAreMissing) {
    EXPECT_EQ(Privileges{}.missing(), (std::vector<std::string>{"CAP_BPF", "CAP_PERFMON"}));
    EXPECT_TRUE(capable().missing().empty());
    Privileges privileges = capable();
    privileges.cap_perfmon = false;
    EXPECT_EQ(privileges.missing(), (std::vector<std::string>{"CAP_PERFMON"}));
    privileges.cap_sys_admin = true;
    EXPECT_TRUE(privileges.missing().empty());
}

TEST(Privileges, AreEnoughWithBothCapabilitiesOrWithSysAdmin) {
    EXPECT_FALSE(Privileges{}.may_bpf());
    EXPECT_TRUE(capable().may_bpf());
    Privileges half = capable();
    half.cap_bpf = false;
    EXPECT_FALSE(half.may_bpf());
    half.cap_sys_admin = true;
    EXPECT_TRUE(half.may_bpf());
}

TEST(Denial, TakesAnArgumentThatIsInvalidForWantOfDescriptorsForThat) {
    Privileges privileges = capable();
    EXPECT_FALSE(contains(explained(EINVAL, privileges).remedy, "ulimit -n"));
    privileges.few_descriptors = true;
    EXPECT_TRUE(contains(explained(EINVAL, privileges).remedy, "ulimit -n"));
    EXPECT_FALSE(contains(explained(EPERM, privileges).remedy, "ulimit -n"));
}

TEST(SetcapRemedy, IsTheWholeCommandForThisBinary) {
    const std::string remedy = setcap_remedy("/opt/rsslag");
    for (const char *part : {"chgrp GROUP /opt/rsslag", "chmod 750 /opt/rsslag",
                             "setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep /opt/rsslag"})
        EXPECT_TRUE(contains(remedy, part)) << remedy;
}

TEST(ExplainDenial, NamesBothCapabilitiesAndHowToGiveThem) {
    const Error error = explained(EPERM, Privileges{});
    EXPECT_EQ(error.kind, Kind::Denied);
    EXPECT_TRUE(contains(error.what, "missing CAP_BPF and CAP_PERFMON")) << error.what;
    EXPECT_TRUE(contains(error.what, "Operation not permitted")) << error.what;
    EXPECT_EQ(error.remedy, setcap_remedy("/opt/rsslag"));
}

TEST(ExplainDenial, NamesOnlyTheCapabilityThatIsMissing) {
    Privileges no_perfmon = capable();
    no_perfmon.cap_perfmon = false;
    EXPECT_TRUE(explained(EPERM, no_perfmon).what.ends_with("missing CAP_PERFMON"));
    Privileges no_bpf = capable();
    no_bpf.cap_bpf = false;
    EXPECT_TRUE(explained(EPERM, no_bpf).what.ends_with("missing CAP_BPF"));
}

TEST(ExplainDenial, PutsMissingCapabilitiesBeforeAllElse) {
    Privileges all_wrong;
    all_wrong.in_user_namespace = true;
    all_wrong.lockdown = "confidentiality";
    all_wrong.seccomp_mode = 2;
    all_wrong.memlock_bytes = 65'536;
    EXPECT_TRUE(contains(explained(EPERM, all_wrong).what, "CAP_BPF"));
}

TEST(ExplainDenial, SaysThatAUserNamespacesCapabilitiesDoNotCount) {
    Privileges contained = capable();
    contained.in_user_namespace = true;
    const Error error = explained(EPERM, contained);
    EXPECT_EQ(error.kind, Kind::Denied);
    EXPECT_TRUE(contains(error.what, "user namespace")) << error.what;
    EXPECT_TRUE(contains(error.remedy, "initial user namespace")) << error.remedy;
}

TEST(ExplainDenial, NamesLockdownOnlyInTheModeThatForbidsBpf) {
    Privileges locked = capable();
    locked.lockdown = "confidentiality";
    const Error error = explained(EPERM, locked);
    EXPECT_EQ(error.kind, Kind::Denied);
    EXPECT_TRUE(contains(error.what, "lockdown")) << error.what;
    EXPECT_TRUE(contains(error.remedy, "lockdown=")) << error.remedy;
    for (const char *harmless : {"integrity", "none", ""}) {
        locked.lockdown = harmless;
        EXPECT_FALSE(contains(explained(EPERM, locked).what, "lockdown")) << harmless;
    }
}

TEST(ExplainDenial, NamesSeccomp) {
    Privileges filtered = capable();
    filtered.seccomp_mode = 2;
    const Error error = explained(EPERM, filtered);
    EXPECT_EQ(error.kind, Kind::Denied);
    EXPECT_TRUE(contains(error.what, "seccomp")) << error.what;
    EXPECT_TRUE(contains(error.remedy, "bpf system call")) << error.remedy;
}

TEST(ExplainDenial, NamesTheLimitOnLockedMemoryNotBpf) {
    Privileges limited = capable();
    limited.memlock_bytes = 65'536;
    limited.memlock_counts_bpf = true;
    for (const int err : {EPERM, ENOMEM}) {
        const Error error = explained(err, limited);
        EXPECT_EQ(error.kind, Kind::Denied);
        EXPECT_TRUE(contains(error.what, "locked memory is 64 kB")) << error.what;
        EXPECT_TRUE(contains(error.remedy, "ulimit -l")) << error.remedy;
    }
    EXPECT_FALSE(contains(explained(EINVAL, limited).what, "locked memory"));
    limited.cap_sys_resource = true;
    EXPECT_FALSE(contains(explained(EPERM, limited).what, "locked memory"));
}

TEST(ExplainDenial, NamesTheMemoryCgroupWhereLockedMemoryDoesNotCount) {
    Privileges limited = capable();
    limited.memlock_bytes = 65'536;
    const Error error = explained(ENOMEM, limited);
    EXPECT_EQ(error.kind, Kind::Denied);
    EXPECT_FALSE(contains(error.what, "locked memory")) << error.what;
    EXPECT_TRUE(contains(error.remedy, "memory.max")) << error.remedy;
}

TEST(Privileges, AreAboutLockedMemoryUpTo510) {
    for (const char *release : {"5.10.0-35-amd64", "5.4.1", "4.19.0", "3.10"})
        EXPECT_TRUE(counts_bpf_as_locked(release)) << release;
    for (const char *release : {"5.11.0", "5.15", "6.1.0-37-amd64", "7.2.0", "", "x"})
        EXPECT_FALSE(counts_bpf_as_locked(release)) << release;
}

TEST(ExplainDenial, BlamesTheKernelWhereNothingElseIsInTheWay) {
    Privileges privileges = capable();
    privileges.cap_sys_admin = true;
    const Error error = explained(EINVAL, privileges);
    EXPECT_EQ(error.kind, Kind::Unsupported);
    EXPECT_TRUE(contains(error.what, "Invalid argument")) << error.what;
    EXPECT_TRUE(contains(error.remedy, "rsslag doctor")) << error.remedy;
}

}  // namespace
}  // namespace rsslag::probe
