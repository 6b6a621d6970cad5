// SPDX-License-Identifier: BSD-2-Clause
// Compares peaks of records made by hand with those of every order of events that the records allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "dice.h"
#include "ledger_of.h"
#include "ledger_oracle.h"

namespace rsslag::core::test::peaks {
namespace {

constexpr std::int64_t kFlushed = 1'000;  // as in LedgerOf
constexpr int kCachedAtFirst = 10;

/// An update of one CPU, and its amount.
struct Change {
    int cpu = 0;
    std::int64_t by = 0;
};

/// The task of a change: a task's changes are in order, too, on whatever CPUs.
int task_of(int cpu) {
    return 4711 + cpu % 2;
}

struct Bounds {
    std::int64_t from = 0, to = 0;
    void include(std::int64_t value) {
        from = std::min(from, value);
        to = std::max(to, value);
    }
};
bool operator==(const Extreme &extreme, const Bounds &bounds) {
    return extreme.from == Pages{bounds.from} && extreme.to == Pages{bounds.to};
}
std::ostream &operator<<(std::ostream &out, const Bounds &bounds) {
    return out << bounds.from << " to " << bounds.to;
}

/// The highest and the lowest value in each order that the records allow. A change was made at some time after the
/// previous record of its CPU and of its task, and before its own record.
class AllOrders {
  public:
    AllOrders(std::int64_t begin, std::vector<Change> changes) : begin_(begin), changes_(std::move(changes)) {
        made_.resize(changes_.size());
        try_from(0);
    }
    Bounds most() const { return most_; }
    Bounds least() const { return least_; }

  private:
    /// Change `next` is made between two records, right before the record with number made_[next].
    void try_from(std::size_t next) {
        if (next == changes_.size()) return add_up();
        const auto task = [this](std::size_t change) { return task_of(changes_[change].cpu); };
        for (std::size_t at = next + 1; at-- > 0 && (at == next || task(at) != task(next));) {
            made_[next] = at;
            try_from(next + 1);
        }
    }
    /// Changes made between the same two records may be in any order: rises first, or falls first.
    void add_up() {
        std::int64_t value = begin_;
        Bounds seen{value, value};
        Bounds inside{value, value};
        for (std::size_t record = 0; record < changes_.size(); ++record) {
            std::int64_t rise = 0;
            std::int64_t fall = 0;
            for (std::size_t i = record; i < changes_.size(); ++i) {
                if (made_[i] == record) (changes_[i].by > 0 ? rise : fall) += changes_[i].by;
            }
            inside.include(value + rise);
            inside.include(value + fall);
            value += rise + fall;
            seen.include(value);
            inside.include(value);
        }
        if (!any_) {
            most_ = {seen.to, inside.to};
            least_ = {inside.from, seen.from};
            any_ = true;
        }
        most_.include(seen.to);
        most_.include(inside.to);
        least_.include(seen.from);
        least_.include(inside.from);
    }

    std::int64_t begin_;
    std::vector<Change> changes_;
    std::vector<std::size_t> made_;
    bool any_ = false;
    Bounds most_, least_;
};

/// A process of two threads whose memory `cpus` CPUs change.
class Recorded {
  public:
    explicit Recorded(int cpus)
        : one(Scheme::Cpu, cached(cpus)), cached_(static_cast<std::size_t>(cpus), kCachedAtFirst) {}

    void apply(const Change &change) {
        int &cached = cached_.at(static_cast<std::size_t>(change.cpu));
        cached += static_cast<int>(change.by);
        one.update(t_ += 1'000, task_of(change.cpu), change.cpu, kFlushed, cached);
    }
    int cached_by(int cpu) const { return cached_.at(static_cast<std::size_t>(cpu)); }
    Extremes extremes() { return one.later().extremes; }
    std::int64_t begin() const { return kFlushed + kCachedAtFirst * static_cast<std::int64_t>(cached_.size()); }

    LedgerOf one;

  private:
    static std::vector<CpuReading> cached(int cpus) {
        std::vector<CpuReading> all;
        for (int cpu = 0; cpu < cpus; ++cpu)
            all.push_back({cpu, members(0, kCachedAtFirst)});
        return all;
    }

    std::vector<int> cached_;
    std::uint64_t t_ = 0;
};

TEST(Peaks, AreWhatAllOrdersThatTheRecordsAllowComeTo) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(runs(60)); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Dice dice(seed);
        const int cpus = static_cast<int>(dice.between(1, 3));
        Recorded result(cpus);
        std::vector<Change> changes;
        while (changes.size() < 7) {
            const Change change{static_cast<int>(dice.between(0, cpus - 1)), dice.between(-8, 8)};
            const std::int64_t cached = result.cached_by(change.cpu) + change.by;
            if (change.by == 0 || cached < 1 || cached > 31) continue;  // a fold would have several possible amounts
            changes.push_back(change);
            result.apply(change);
        }
        const AllOrders orders(result.begin(), changes);
        const Extremes extremes = result.extremes();
        EXPECT_TRUE(extremes.most == orders.most())
            << extremes.most.from.n << " to " << extremes.most.to.n << ", but " << orders.most();
        EXPECT_TRUE(extremes.least == orders.least())
            << extremes.least.from.n << " to " << extremes.least.to.n << ", but " << orders.least();
        EXPECT_FALSE(extremes.lossy);
    }
}

TEST(Peaks, SayThatTheyMayHaveBeenMoreAfterALoss) {
    Recorded result(1);
    result.apply({0, 12});
    result.one.ledger.records_lost();
    result.apply({0, -15});
    result.apply({0, 20});
    const Extremes extremes = result.extremes();
    EXPECT_TRUE(extremes.lossy);
    EXPECT_GE(extremes.most.from, Pages{result.begin() + 12});
    EXPECT_TRUE(result.one.ledger.extremes().lossy) << "the extremes of the tree are uncertain, too";
}

TEST(Peaks, GoOnWithTheNextReadingAfterALoss) {
    Recorded result(1);
    result.one.ledger.records_lost();
    result.one.ledger.watch(kMm);
    result.one.ledger.compare(result.one.reading_of(3'000, {{0, members(0, 5)}}), kStart + 4'000'000,
                              kStart + 4'100'000);
    const Extremes extremes = result.extremes();
    EXPECT_TRUE(extremes.lossy);
    EXPECT_EQ(extremes.most.from, Pages{3'005});
    EXPECT_EQ(extremes.most.members.rss(), Pages{3'005});
}

/// A fold whose amount no later record confirms yet.
TEST(Peaks, SayThatTheLatestUpdatesAreNotSettled) {
    LedgerOf one(Scheme::Cpu, {{0, members(0, 31)}});
    EXPECT_FALSE(one.ledger.view(kMm)->extremes.open);
    one.update(1'000, 4711, 0, 1'032, 0, kFault);
    const Extremes now = one.ledger.view(kMm)->extremes;
    EXPECT_TRUE(now.open);
    EXPECT_TRUE(one.ledger.extremes().open) << "of the tree, too";
    EXPECT_LT(now.most.from, now.most.to);
    EXPECT_EQ(now.most.likely(), Pages{1'032});
    const Extremes later = one.later().extremes;
    EXPECT_FALSE(later.open);
    EXPECT_LT(later.most.to, now.most.to);
    EXPECT_FALSE(one.ledger.extremes().open);
}

TEST(Peaks, OfLagAndCachedIncludeTheFirstReading) {
    Recorded quiet(2);
    const Extremes unchanged = quiet.extremes();
    EXPECT_EQ(unchanged.lag, Pages{2 * kCachedAtFirst});
    EXPECT_EQ(unchanged.lag_rss, Pages{quiet.begin()});
    EXPECT_EQ(unchanged.lag_t_ns, kStart);
    EXPECT_EQ(unchanged.cached_most[Member::Anon], Pages{2 * kCachedAtFirst});

    Recorded falling(2);
    falling.apply({0, -5});
    EXPECT_EQ(falling.extremes().lag, Pages{2 * kCachedAtFirst});
    EXPECT_EQ(falling.extremes().lag_t_ns, kStart);
    falling.apply({0, 7});
    EXPECT_EQ(falling.extremes().lag, Pages{2 * kCachedAtFirst + 2});
    EXPECT_EQ(falling.extremes().cached_most[Member::Anon], Pages{2 * kCachedAtFirst + 2});
}

TEST(Peaks, OfLagAndCachedIncludeTheReadingAfterALoss) {
    Recorded result(1);
    result.apply({0, -9});
    result.one.ledger.records_lost();
    result.one.ledger.watch(kMm);
    result.one.ledger.compare(result.one.reading_of(3'000, {{0, members(0, 25)}}), kStart + 4'000'000,
                              kStart + 4'100'000);
    const Extremes extremes = result.extremes();
    EXPECT_EQ(extremes.lag, Pages{25});
    EXPECT_GE(extremes.lag_t_ns, kStart);
    EXPECT_EQ(extremes.cached_most[Member::Anon], Pages{25});
    EXPECT_TRUE(extremes.approximate());
    EXPECT_FALSE(extremes.read_late);
}

TEST(Peaks, OfEachMemberHaveATimeAndATask) {
    constexpr auto kIndex = static_cast<std::size_t>(Member::Anon);
    LedgerOf one(Scheme::Cpu, {{0, members(0, 0)}});
    one.update(10, 4711, 0, 1'000, 5);
    one.update(20, 4712, 0, 1'000, 2);
    one.update(30, 4712, 0, 1'000, -4);
    const Extremes extremes = one.later().extremes;
    EXPECT_EQ(extremes.each_most[Member::Anon], Pages{1'005});
    EXPECT_EQ(extremes.each_most_at[kIndex].t_ns, kStart + 10);
    EXPECT_EQ(extremes.each_most_at[kIndex].tid, 4711);
    EXPECT_EQ(extremes.each_least[Member::Anon], Pages{996});
    EXPECT_EQ(extremes.each_least_at[kIndex].t_ns, kStart + 30);
    EXPECT_EQ(extremes.each_least_at[kIndex].tid, 4712);
    EXPECT_EQ(extremes.cached_most[Member::Anon], Pages{5});
    EXPECT_EQ(extremes.cached_most_at[kIndex].t_ns, kStart + 10);
    EXPECT_EQ(extremes.cached_most_at[kIndex].tid, 4711);
    const auto file = static_cast<std::size_t>(Member::File);
    EXPECT_EQ(extremes.each_most_at[file].t_ns, kStart) << "no record changed it";
    EXPECT_EQ(extremes.each_most_at[file].tid, 0);
}

TEST(Peaks, OfTwoProgramsAreReadLateIfNoRecordWasLost) {
    Extremes late;
    late.lossy = late.read_late = true;
    Extremes lost;
    lost.lossy = true;
    EXPECT_TRUE(highest(late, {}).read_late);
    EXPECT_TRUE(highest({}, late).read_late);
    EXPECT_FALSE(highest(late, lost).read_late);
    EXPECT_FALSE(highest(lost, late).read_late);
    EXPECT_FALSE(highest({}, {}).read_late);
}

rsslag_sum summed(std::uint64_t t, int cpu, std::uint32_t updates, int cached) {
    rsslag_sum record{};
    record.kind = RSSLAG_SUM;
    record.flags = kOwn;
    record.tid = 4711;
    record.t_ns = kStart + t;
    record.mm = kMm;
    record.cached[static_cast<std::size_t>(Member::Anon)] = cached;
    record.updates = updates;
    record.number = 1;
    record.cpu = record.of = static_cast<rsslag_u16>(cpu);
    record.members = 1U << static_cast<unsigned>(Member::Anon);
    return record;
}

/// What three more CPUs may have cached in the meantime, without a record yet: less than a batch each.
constexpr std::int64_t kOthers = 3 * 31;

TEST(Peaks, OfASumAreAllThatItsUpdatesMayHaveComeTo) {
    // Within five updates that left 12, the CPU may have cached anything below a batch.
    Recorded result(1);
    result.one.ledger.apply(summed(1'000, 0, 5, 12));
    const Extremes many = result.extremes();
    EXPECT_TRUE(many.most == (Bounds{kFlushed + 12 - kOthers, kFlushed + 31 + kOthers})) << many.most.to.n;
    EXPECT_TRUE(many.least == (Bounds{kFlushed - 31 - kOthers, kFlushed + 10 + kOthers})) << many.least.to.n;
}

TEST(Peaks, OfASingleUpdateInASumAreWhatItLeft) {
    Recorded result(1);
    result.one.ledger.apply(summed(1'000, 0, 1, 12));
    const Extremes single = result.extremes();
    EXPECT_TRUE(single.most == (Bounds{kFlushed + 12 - kOthers, kFlushed + 12 + kOthers})) << single.most.to.n;
    EXPECT_TRUE(single.least == (Bounds{kFlushed + 10 - kOthers, kFlushed + 10 + kOthers})) << single.least.to.n;
}

TEST(Peaks, InCountsModeHideWhatWasCachedInBetween) {
    for (const auto &[scheme, counting, hidden] :
         {std::tuple(Scheme::Cpu, true, true), std::tuple(Scheme::Thread, true, true),
          std::tuple(Scheme::Plain, true, false), std::tuple(Scheme::Cpu, false, false)}) {
        const LedgerOf one(scheme, {}, counting);
        const Extremes extremes = one.ledger.view(kMm).value().extremes;
        EXPECT_EQ(extremes.approximate(), hidden) << name(scheme);
        EXPECT_FALSE(extremes.lossy) << name(scheme);
    }
}

/// A traced process of a model with one CPU, so that every amount is exact.
struct OneCpu {
    OneCpu() : kernel(options()), oracle(kernel), root(&kernel.make_process("root", true)) { oracle.adopt_all(); }

    static ModelOptions options() {
        ModelOptions options;
        options.cpus = 1;
        options.argument_pages = false;  // exec adds no page to the old mm
        return options;
    }
    void touch(ModelTask &task, int pages) {
        for (int i = 0; i < pages; ++i)
            kernel.anon_fault(task);
        kernel.settle();
    }
    void feed() {
        oracle.feed_all();
        oracle.expect_truth();
    }
    Pages tree() { return oracle.ledger().extremes().most.to; }

    ModelKernel kernel;
    Oracle oracle;
    ModelTask *root;
};

TEST(Peaks, OfAnExecStartAgain) {
    OneCpu scene;
    scene.touch(*scene.root, 300);
    const Pages before = scene.root->mm->rss_most;
    scene.kernel.exec(*scene.root, "other");
    scene.touch(*scene.root, 20);
    scene.feed();
    ASSERT_EQ(scene.oracle.ended().size(), 1U);
    EXPECT_EQ(scene.oracle.ended()[0].mm.extremes.most.to, before);
    const MmView view = scene.oracle.ledger().view(scene.root->mm->address).value();
    EXPECT_EQ(view.extremes.most.to, scene.root->mm->rss_most);
    EXPECT_LT(view.extremes.most.to, before);
    EXPECT_GE(scene.tree(), before);
}

TEST(Peaks, OfAVforkAreTheParents) {
    OneCpu scene;
    scene.touch(*scene.root, 40);
    scene.kernel.fork_sharing(*scene.root);
    scene.kernel.settle();
    ModelTask &child = *scene.kernel.tasks().back();
    scene.touch(child, 100);
    const Pages most = scene.root->mm->rss_most;
    scene.kernel.exec(child, "child");
    scene.touch(child, 5);
    scene.feed();
    EXPECT_EQ(scene.oracle.ledger().view(scene.root->mm->address)->extremes.most.to, most);
    EXPECT_LT(scene.oracle.ledger().view(child.mm->address)->extremes.most.to, most);
}

TEST(Peaks, OfAnImageThatAnotherProcessStillUses) {
    OneCpu scene;
    scene.touch(*scene.root, 300);
    const Pages most = scene.root->mm->rss_most;
    scene.kernel.fork_sharing(*scene.root);
    scene.kernel.settle();
    scene.kernel.exec(*scene.root, "other");
    scene.touch(*scene.root, 20);
    scene.feed();
    scene.kernel.run_for(5'000'000'000);
    scene.feed();
    ASSERT_EQ(scene.oracle.ended().size(), 1U) << "its own image is no vfork's";
    EXPECT_EQ(scene.oracle.ended()[0].mm.extremes.most.to, most);
    EXPECT_EQ(scene.oracle.ended()[0].group.state, State::Exec);
}

TEST(Peaks, OfTheTreeCountAnMmThatIsSharedOnce) {
    OneCpu scene;
    scene.kernel.fork_sharing(*scene.root);
    scene.kernel.settle();
    ModelTask &child = *scene.kernel.tasks().back();
    scene.touch(child, 60);
    scene.touch(*scene.root, 60);
    scene.feed();
    EXPECT_EQ(scene.oracle.ledger().groups().size(), 2U);
    EXPECT_EQ(scene.tree(), scene.root->mm->rss_most);
    const Extreme most = scene.oracle.ledger().extremes().most;
    EXPECT_EQ(most.from, most.to);
    EXPECT_EQ(most.processes, 2U);
}

/// Nothing grows after the attach, so that the last reading is the peak.
TEST(Peaks, OfTheTreeCountEachProcessOfTheAttach) {
    ModelKernel kernel(OneCpu::options());
    for (const char *const name : {"one", "two", "three"})
        kernel.make_process(name, true);
    Oracle oracle(kernel);
    oracle.adopt_all();
    const Extreme most = oracle.ledger().extremes().most;
    EXPECT_EQ(most.processes, 3U);
    std::uint64_t last_ns = 0;
    for (const GroupView &group : oracle.ledger().groups())
        last_ns = std::max(last_ns, oracle.ledger().view(group.mm)->extremes.most.t_ns);
    EXPECT_GT(last_ns, 0U);
    EXPECT_EQ(most.t_ns, last_ns) << "the sum is highest once the last process is read";
}

TEST(Peaks, OfAProcessThatSharesItsMmAreOfItsOwnLife) {
    OneCpu scene;
    scene.touch(*scene.root, 300);
    const Pages before = scene.root->mm->exact.rss();
    scene.kernel.fork_sharing(*scene.root);
    scene.kernel.settle();
    ModelTask &child = *scene.kernel.tasks().back();
    scene.touch(child, 50);
    scene.feed();
    const Pages most = scene.root->mm->exact.rss();
    const int tgid = child.group->tgid;
    const MmView lives = scene.oracle.ledger().view(scene.root->mm->address, tgid).value();
    EXPECT_EQ(lives.extremes.least.from, before) << "not the least of the mm, before its birth";
    EXPECT_EQ(lives.at_start.rss(), before);
    scene.kernel.exit(child);  // may touch one more page (kernel/fork.c mm_release)
    scene.kernel.settle();
    const Pages at_exit = scene.root->mm->exact.rss();
    scene.touch(*scene.root, 500);
    scene.feed();
    const std::vector<Ended> all = scene.oracle.ledger().take_ended(true);
    ASSERT_EQ(all.size(), 1U);
    const MmView &ended = all[0].mm;
    EXPECT_GE(ended.extremes.most.to, most);
    EXPECT_LE(ended.extremes.most.to, at_exit) << "not the peak of its parent, after its end";
    EXPECT_LE(ended.last.rss(), at_exit);
    EXPECT_EQ(scene.oracle.ledger().view(scene.root->mm->address)->extremes.most.to, scene.root->mm->rss_most);
}

/// The parent's records from before the birth may have been settled only after it.
TEST(Peaks, OfAProcessThatSharesItsMmHaveNothingFromBeforeItsBirth) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        ModelOptions options = OneCpu::options();
        options.cpus = 4;
        options.seed = seed;
        ModelKernel kernel(options);
        Oracle oracle(kernel);
        ModelTask &root = kernel.make_process("root", true);
        oracle.adopt_all();
        for (int i = 0; i < 300; ++i)
            kernel.anon_fault(root);
        Members all;
        all[Member::Anon] = Pages{1'000};
        kernel.zap(root, all);
        kernel.settle();
        const Pages left = root.mm->exact.rss();
        kernel.fork_sharing(root);
        kernel.settle();
        kernel.exit(*kernel.tasks().back());
        kernel.settle();
        oracle.feed_all();
        const std::vector<Ended> ended = oracle.ledger().take_ended(true);
        ASSERT_EQ(ended.size(), 1U);
        constexpr Pages kOfExit{8};  // kernel/fork.c mm_release writes to the stack
        EXPECT_LE(ended[0].mm.extremes.most.from, left + kOfExit) << "seed " << seed;
    }
}

/// Beyond a number of them, what is known of each is its start and its end.
TEST(Peaks, OfVeryManyThatShareAnMmAreMarkedBounds) {
    OneCpu scene;
    scene.touch(*scene.root, 300);
    const Pages most = scene.root->mm->rss_most;
    constexpr int kMany = 40;
    for (int i = 0; i < kMany; ++i) {
        scene.kernel.fork_sharing(*scene.root);
        scene.kernel.settle();
        scene.touch(*scene.kernel.tasks().back(), 1);
    }
    scene.feed();
    const Ledger &ledger = scene.oracle.ledger();
    ASSERT_EQ(ledger.groups().size(), kMany + 1U);
    int bounds = 0;
    for (const GroupView &group : ledger.groups()) {
        if (group.host_tgid == scene.root->group->tgid) continue;
        const MmView view = ledger.view(scene.root->mm->address, group.host_tgid).value();
        EXPECT_GE(view.at_start.rss(), most) << "not the start of the mm";
        EXPECT_GE(view.extremes.most.from, view.at_start.rss());
        EXPECT_LE(view.extremes.most.from, view.last.rss());
        bounds += view.extremes.lossy ? 1 : 0;
    }
    EXPECT_EQ(bounds, kMany - 32);
}

/// Pauses the sum over all mms, but not the peak of the process that goes on.
TEST(Peaks, OfTheTreeAreNoLowerThanThatOfOneProcess) {
    OneCpu scene;
    scene.touch(*scene.root, 300);
    scene.feed();
    scene.oracle.ledger().records_lost(1, 0);
    scene.oracle.compare(*scene.root->mm);
    scene.touch(*scene.root, 700);
    scene.feed();
    const Extremes one = scene.oracle.ledger().view(scene.root->mm->address)->extremes;
    const Extremes all = scene.oracle.ledger().extremes();
    EXPECT_TRUE(all.lossy);
    EXPECT_GE(all.most.from, one.most.from);
    EXPECT_GE(all.most.processes, 1U);
}

TEST(Peaks, OfTheTreeAreOfOneInstant) {
    OneCpu scene;
    scene.kernel.fork(*scene.root);
    scene.kernel.settle();
    ModelTask &child = *scene.kernel.tasks().back();
    scene.touch(child, 200);
    const ModelMm &childs = *child.mm;
    const Pages root = scene.root->mm->exact.rss();
    scene.kernel.exit(child);  // may touch one more page (kernel/fork.c mm_release)
    scene.kernel.settle();
    const Pages together = root + childs.rss_most;
    scene.touch(*scene.root, 100);  // fewer than the child freed: the peak is the one with the child
    scene.feed();
    EXPECT_EQ(scene.tree(), together);
}

}  // namespace
}  // namespace rsslag::core::test::peaks
