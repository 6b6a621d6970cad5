// SPDX-License-Identifier: BSD-2-Clause
// The rights that an ordinary user needs, and the messages without them.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "run.h"

namespace rsslag::live {
namespace {

using nlohmann::json;
constexpr uid_t kNobody = 65534;

/// In a child: becomes the user nobody with only these capabilities. They are ambient, so that exec keeps them.
void become_nobody(const std::vector<cap_value_t> &caps) {
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(99);
    cap_t set = cap_init();
    if (!caps.empty()) {
        const int count = static_cast<int>(caps.size());
        cap_set_flag(set, CAP_PERMITTED, count, caps.data(), CAP_SET);
        cap_set_flag(set, CAP_EFFECTIVE, count, caps.data(), CAP_SET);
        cap_set_flag(set, CAP_INHERITABLE, count, caps.data(), CAP_SET);
    }
    if (cap_set_proc(set) != 0) _exit(98);
    for (const cap_value_t cap : caps) {
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) != 0) _exit(97);
    }
}

/// Lines "rsslag: …" on stderr.
std::size_t lines(const std::string &text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

json processes(const Outcome &outcome) {
    const json document = json::parse(outcome.out, nullptr, false);
    return document.is_discarded() ? json::array() : document["processes"];
}

/// A directory from which an ordinary user can run programs with file capabilities; empty: there is none.
std::string place_for_programs() {
    for (const char *const directory : {"/dev/shm", "/var/tmp", "/tmp"}) {
        struct statvfs about {};
        if (statvfs(directory, &about) != 0 || (about.f_flag & (ST_NOEXEC | ST_NOSUID | ST_RDONLY)) != 0) continue;
        struct stat of_directory {};
        if (stat(directory, &of_directory) == 0 && (of_directory.st_mode & S_IXOTH) != 0) return directory;
    }
    return "";
}

/// A copy that an ordinary user can run, with file capabilities if requested.
class Copy {
  public:
    explicit Copy(const std::string &directory) : path_(directory + "/rsslag-test-" + std::to_string(getpid())) {
        std::filesystem::copy_file(expected.rsslag, path_, std::filesystem::copy_options::overwrite_existing);
        chmod(path_.c_str(), 0755);
    }
    ~Copy() { std::filesystem::remove(path_); }
    Copy(const Copy &) = delete;
    Copy &operator=(const Copy &) = delete;
    const std::string &path() const { return path_; }
    bool set_capabilities(const char *text) const {
        cap_t caps = cap_from_text(text);
        const bool set = cap_set_file(path_.c_str(), caps) == 0;
        cap_free(caps);
        return set;
    }

  private:
    std::string path_;
};

class Permissions : public testing::Test {
  protected:
    void SetUp() override {
        if (getuid() != 0) GTEST_SKIP() << "only root can become a user with exactly these capabilities";
        // A container's root may lack some; Linux before 5.8 has no CAP_BPF.
        for (const cap_value_t cap : {CAP_SETUID, CAP_SETGID, CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF}) {
            if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 1) GTEST_SKIP() << "root here lacks capability " << cap;
        }
        const std::string place = place_for_programs();
        if (place.empty())
            GTEST_SKIP() << "in no directory that all users can enter may programs run with file capabilities";
        copy_.emplace(place);
    }
    const std::string &copy() const { return copy_->path(); }
    /// The document of a run during which no counter changed. The kernel may reclaim pages of any process at any time,
    /// but not in every attempt.
    static Outcome at_rest(const std::vector<std::string> &words, const std::function<void()> &in_child) {
        constexpr int kTries = 3;
        Outcome outcome = run(words, in_child);
        for (int tries = 1; tries < kTries && outcome.out.find(R"("verdict":"moving")") != std::string::npos; ++tries)
            outcome = run(words, in_child);
        return outcome;
    }

    std::optional<Copy> copy_;
};

TEST_F(Permissions, AmbientBpfAndPerfmonAreEnoughForOnesOwnProcess) {
    const Outcome outcome = at_rest({copy(), "demo", "single", "--json"}, [] {
        become_nobody({CAP_BPF, CAP_PERFMON});
    });
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(processes(outcome).at(0)["verdict"], "agrees") << outcome.out;
}

TEST_F(Permissions, SmapsOfOtherUsersRequiresPtraceAndItsLackIsReported) {
    const HeldProcess held = HeldProcess::workload({"single"});
    SKIP_WHERE_REFUSED(held);
    const std::vector<std::string> words{copy(), "snapshot", "--json", std::to_string(held.pid())};
    const Outcome without = at_rest(words, [] { become_nobody({CAP_BPF, CAP_PERFMON}); });
    ASSERT_EQ(without.status, 0) << without.err;
    const json blind = processes(without).at(0);
    EXPECT_TRUE((blind["walk"] == "denied" && blind["verdict"] == "unwalked" && blind["residual"].is_null()) ||
                (blind["walk"] == "done" && blind["verdict"] == "agrees"))
        << without.out;
    const Outcome with = at_rest(words, [] { become_nobody({CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE}); });
    ASSERT_EQ(with.status, 0) << with.err;
    EXPECT_EQ(processes(with).at(0)["verdict"], "agrees") << with.out;
}

TEST_F(Permissions, FileCapabilitiesAreEnoughFromAShellWithNone) {
    if (!copy_->set_capabilities("cap_bpf,cap_perfmon,cap_sys_ptrace+ep"))
        GTEST_SKIP() << "file capabilities cannot be set";
    const Outcome demo = at_rest({copy(), "demo", "few-pages", "--json"}, [] { become_nobody({}); });
    ASSERT_EQ(demo.status, 0) << demo.err;
    EXPECT_EQ(processes(demo).at(0)["verdict"], "agrees") << demo.out;
    const Outcome doctor = run({copy(), "doctor"}, [] { become_nobody({}); });
    EXPECT_EQ(doctor.status, 0) << doctor.out;
}

TEST_F(Permissions, WithoutCapabilitiesOneLineNamesWhatIsMissingAndTheRemedy) {
    const auto named = [](const Outcome &outcome) {
        EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
        EXPECT_NE(outcome.err.find("CAP_BPF and CAP_PERFMON"), std::string::npos) << outcome.err;
        EXPECT_NE(outcome.err.find("setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep"), std::string::npos) << outcome.err;
    };
    const auto without = [] { become_nobody({}); };
    const Outcome events = run({copy(), "live", "--events", std::to_string(getpid())}, without);
    EXPECT_EQ(events.status, 3) << events.err;
    EXPECT_EQ(events.out, "");
    named(events);
    const Outcome demo = run({copy(), "demo"}, without);
    EXPECT_EQ(demo.status, 0) << demo.err;
    EXPECT_NE(demo.out.find("BY /proc ALONE"), std::string::npos) << demo.out;
    named(demo);
    const Outcome only_bpf = run({copy(), "live", "--events", "1"}, [] { become_nobody({CAP_BPF}); });
    EXPECT_EQ(only_bpf.status, 3);
    EXPECT_NE(only_bpf.err.find("missing CAP_PERFMON"), std::string::npos) << only_bpf.err;
}

TEST_F(Permissions, WorksWithin64KiBOfLockedMemory) {
    const auto limited = [] {
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        become_nobody({CAP_BPF, CAP_PERFMON});
    };
    const Outcome outcome = at_rest({copy(), "demo", "single", "--json"}, limited);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(processes(outcome).at(0)["verdict"], "agrees") << outcome.out;
}

TEST_F(Permissions, AKernelWithoutBtfIsNamed) {
    constexpr int kNoMount = 99;
    const Outcome outcome =
        run({"unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf || exit 99; exec \"$0\" live --events 1",
             expected.rsslag});
    if (outcome.status == 127 || outcome.status == kNoMount || outcome.err.starts_with("unshare: "))
        GTEST_SKIP() << "/sys/kernel/btf cannot be hidden on this machine: " << outcome.err;
    EXPECT_EQ(outcome.status, 3) << outcome.out;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("BTF"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("CONFIG_DEBUG_INFO_BTF"), std::string::npos) << outcome.err;
}

TEST_F(Permissions, InAPidNamespaceNeighboursAreFoundByTheirNumberThere) {
    const Outcome able = run({"unshare", "-pf", "--mount-proc", "true"});
    if (able.status != 0) GTEST_SKIP() << "cannot create a PID namespace with its own /proc: " << able.err;
    // It prints that it is ready before it sleeps.
    const Outcome outcome = run({"unshare", "-pf", "--kill-child", "--mount-proc", "sh", "-c",
                                 "\"$0\" demo single --hold | {\n"
                                 "    read ready child || exit 99\n"
                                 "    while ! \"$0\" snapshot --check $child >/dev/null 2>&1; do\n"
                                 "        kill -0 $child || exit 98\n"
                                 "    done\n"
                                 "    \"$0\" snapshot --json $child; kill $child\n"
                                 "}",
                                 expected.rsslag});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json process = processes(outcome).at(0);
    EXPECT_LT(process["pid"], 10);
    EXPECT_GT(process["host_pid"], process["pid"]);
    EXPECT_EQ(process["comm"], "single");
    EXPECT_EQ(process["mm"]["pids"], json::array({process["pid"]}));
}

}  // namespace
}  // namespace rsslag::live
