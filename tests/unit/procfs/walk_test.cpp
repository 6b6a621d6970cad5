// SPDX-License-Identifier: BSD-2-Clause
// A walk of many mappings takes many reads. The process changes or ends between them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "child.h"
#include "procfs/process.h"

namespace rsslag::procfs {
namespace {

using core::Kind;
using test::Child;

constexpr int kMappings = 4000;

/// Mappings that the kernel cannot merge.
void map_many() {
    for (int i = 0; i < kMappings; ++i) {
        int protection = i % 2 != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
        if (mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) _exit(1);
    }
}

bool has_stack(const std::vector<Mapping> &mappings) {
    return std::any_of(mappings.begin(), mappings.end(), [](const Mapping &m) { return m.name == "[stack]"; });
}

const int kRounds = std::getenv("RSSLAG_TEST_LONG") != nullptr ? 20 : 7;

/// Runs `act` while `child` is walked, slightly later in each round: from the start of the walk until some time after
/// its end.
template <class Act>
core::Result<Text> walk_while(const Child &child, int round, Act act) {
    auto process = Process::open(child.pid());
    if (!process) return process.error();
    auto undisturbed = process->smaps_text();
    if (!undisturbed) return undisturbed;
    auto delay = undisturbed->took * round * 3 / 2 / kRounds;
    std::thread meanwhile([delay, act] {
        std::this_thread::sleep_for(delay);
        act();
    });
    auto text = process->smaps_text();
    meanwhile.join();
    return text;
}

TEST(Walk, OfAProcessThatIsKilledMeanwhileIsWholeOrGone) {
    int gone = 0;
    for (int round = 0; round < kRounds; ++round) {
        Child child([](auto say) {
            map_many();
            say(1);
        });
        ASSERT_EQ(child.heard(), 1);
        auto text = walk_while(child, round, [&child] { child.kill_only(); });
        if (!text) {
            EXPECT_EQ(text.error().kind, Kind::Gone) << text.error().what;
            ++gone;
            continue;
        }
        auto mappings = parse_smaps(text->bytes);
        ASSERT_TRUE(mappings.ok()) << mappings.error().what;
        EXPECT_GE(mappings->size(), static_cast<std::size_t>(kMappings)) << "round " << round;
        EXPECT_TRUE(has_stack(*mappings)) << "round " << round;
    }
    RecordProperty("gone", gone);
}

TEST(Walk, OfAProcessThatExecsMeanwhileIsThatOfOneProgram) {
    for (int round = 0; round < kRounds; ++round) {
        Child child([](auto say) {
            map_many();
            // Blocked before say(), so that the signal cannot come too early.
            sigset_t usr1;
            sigemptyset(&usr1);
            sigaddset(&usr1, SIGUSR1);
            sigprocmask(SIG_BLOCK, &usr1, nullptr);
            say(1);
            int signal = 0;
            sigwait(&usr1, &signal);
            execlp("sleep", "sleep", "100", nullptr);
        });
        ASSERT_EQ(child.heard(), 1);
        auto text = walk_while(child, round, [&child] { kill(child.pid(), SIGUSR1); });
        ASSERT_TRUE(text.ok()) << text.error().what;
        auto mappings = parse_smaps(text->bytes);
        ASSERT_TRUE(mappings.ok()) << mappings.error().what;
        bool old_program = mappings->size() >= static_cast<std::size_t>(kMappings);
        bool new_program = mappings->size() < 100;
        EXPECT_TRUE(old_program || new_program) << mappings->size() << " mappings in round " << round;
        // fs/binfmt_elf.c sets the mapping that is the stack only after it has mapped the new program.
        EXPECT_TRUE(new_program || has_stack(*mappings)) << "round " << round;
    }
}

}  // namespace
}  // namespace rsslag::procfs
