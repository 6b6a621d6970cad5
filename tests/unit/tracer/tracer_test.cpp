// SPDX-License-Identifier: BSD-2-Clause
// The live tracer with a made-up kernel: the replay of its recording has the same content.
#include "tracer/tracer.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "analysis/replay.h"
#include "documents/tick.h"
#include "events.h"
#include "rsslag/abi.h"

namespace rsslag::tracer {
namespace {

using analysis::test::kPid;
using analysis::test::kStart;

/// One process, whose anon pages grow by one with each update. Each reading of the clock takes a microsecond.
class NoKernel : public Source {
  public:
    NoKernel() { facts_.machine = analysis::test::facts().machine; }

    const core::SnapshotDocument &facts() const override { return facts_; }
    const std::vector<std::string> &missing() const override { return missing_; }
    core::IdKey id_key() const override { return {7, 8}; }
    std::uint64_t now_ns() override { return now_ += 1'000; }
    void wait_until(std::uint64_t t_ns) override { now_ = std::max(now_, t_ns); }
    std::chrono::system_clock::time_point time() override {
        return std::chrono::system_clock::time_point(
            std::chrono::nanoseconds(analysis::test::kStartUnix + (now_ += 1'000)));
    }
    core::Status trace(int host_tgid, std::uint64_t mm) override {
        traced_.emplace(host_tgid, mm);
        return core::success();
    }
    core::Status untrace(int host_tgid, std::uint64_t mm) override {
        traced_.erase({host_tgid, mm});
        return core::success();
    }
    bool traced(int host_tgid) const override { return host_tgid == matched_; }
    core::Status trace_matching(const probe::Pattern &pattern) override {
        matching_.push_back(pattern.cgroup);
        return core::success();
    }
    void detach() override {}
    void collect(const Records &use) override {
        for (const event::Records &records : std::exchange(sent_, {}))
            use(records.ring, records.bytes);
    }
    core::Losses losses() override { return analysis::test::losses(0, updates_ + lost_, lost_).counts; }
    std::uint64_t lost_samples() override { return lost_samples_; }
    void copy_less() override { ++copied_less_; }
    std::vector<std::vector<std::byte>> samples() override { return std::exchange(samples_, {}); }
    std::vector<core::MappingChange> mapping_changes() override { return std::exchange(changes_, {}); }
    core::Result<core::MappingListing> list_mappings(int, pid_t pid, bool) override {
        listed_.push_back(pid);
        return core::MappingListing{};
    }
    std::uint64_t folded_cpus() override { return folded_; }
    std::vector<core::FaultCounts> faults(std::span<const int> tids) override {
        return std::vector<core::FaultCounts>(tids.size(), {updates_, 1});
    }
    std::optional<core::EndFigures> end_of(int) override { return std::nullopt; }
    core::Result<core::TimedCounters> read_counters(pid_t pid) override {
        if (refuses_) return core::Error{core::Kind::Io, "cannot read it: Too many open files", EMFILE, "raise it"};
        const std::uint64_t begin = now_ns();
        core::TimedCounters taken{analysis::test::counters(anon()), begin, now_ns()};
        name(taken.counters, pid);
        taken.counters.started_ns = started_ns_;
        return taken;
    }
    core::Result<core::RawReading> read(int, pid_t pid, bool walk) override {
        if (refuses_) return core::Error{core::Kind::Io, "cannot read it: Too many open files", EMFILE, "raise it"};
        auto taken = analysis::test::reading(now_ns() - kStart, anon(), walk).reported;
        for (core::CounterReading &each : taken->bracket.readings)
            name(each, pid);
        taken->pid = pid;
        return taken;
    }
    void forget(int) override {}
    core::OwnCost cost(std::uint64_t sent) override { return {static_cast<double>(sent), std::nullopt, {1}}; }
    core::OwnCost whole_cost(std::uint64_t sent) override { return cost(sent); }

    /// Any other process has an mm and a task of its own.
    void name(core::CounterReading &reading, pid_t pid) const {
        reading.mm = mm_;
        if (pid == kPid) return;
        reading.mm += 0x100000 * static_cast<std::uint64_t>(pid);
        reading.tasks = {core::test::task(pid, {}, pid)};
    }

    /// `lost`: the ring was full for its record.
    void update(bool lost = false) {
        now_ += 50'000;
        const std::int64_t before = anon();
        (lost ? lost_ : updates_)++;
        if (!lost) sent_.push_back(analysis::test::update(now_ - kStart, before + 1));
    }
    void sleep(std::uint64_t ns) { now_ += ns; }
    void fold() { ++folded_; }
    void lose_samples() { ++lost_samples_; }
    int copied_less() const { return copied_less_; }
    /// Some process of the machine runs another program.
    void map_program(int pid) {
        core::MappingChange change;
        change.t_ns = now_;
        change.pid = pid;
        change.kind = core::MappingChange::Kind::Exec;
        changes_.push_back(change);
        change.kind = core::MappingChange::Kind::Mapped;
        change.range = {0x1000, 0x2000, core::MappingExecute, "/bin/other", 0, 1};
        changes_.push_back(change);
    }
    void sample(int pid) {
        rsslag_sample sample{};
        sample.t_ns = now_;
        sample.tid = sample.tgid = sample.ns_tgid = pid;
        samples_.emplace_back(sizeof(sample));
        std::memcpy(samples_.back().data(), &sample, sizeof(sample));
    }
    /// Processes whose mappings were read.
    const std::vector<int> &listed() const { return listed_; }
    /// The process has matched by an exec whose records are still in the ring.
    void match(int host_tgid) { matched_ = host_tgid; }
    /// The record of the exec is lost.
    void exec() {
        mm_ += 0x1000;
        ++lost_;
    }
    /// Another process gets the number right after the next reading.
    void reuse() { started_ns_ = now_ + 1'000'000'000; }
    bool traces(int host_tgid, std::uint64_t mm) const { return traced_.count({host_tgid, mm}) != 0; }
    void refuse(bool refuses) { refuses_ = refuses; }
    std::size_t times_matched(const std::string &cgroup) const {
        return static_cast<std::size_t>(std::count(matching_.begin(), matching_.end(), cgroup));
    }

  private:
    std::int64_t anon() const { return 1000 + static_cast<std::int64_t>(updates_ + lost_); }

    core::SnapshotDocument facts_;
    std::vector<std::string> missing_;
    std::uint64_t now_ = kStart;
    std::uint64_t updates_ = 0, lost_ = 0, folded_ = 0;
    std::uint64_t lost_samples_ = 0;
    int copied_less_ = 0;
    bool refuses_ = false;
    std::uint64_t mm_ = analysis::test::kMm, started_ns_ = 0;
    std::set<std::pair<int, std::uint64_t>> traced_;
    int matched_ = 0;
    std::vector<event::Records> sent_;
    std::vector<std::string> matching_;
    std::vector<std::vector<std::byte>> samples_;
    std::vector<core::MappingChange> changes_;
    std::vector<int> listed_;
};

/// Captures the log until its destructor.
class Logged {
  public:
    Logged() : before_(spdlog::default_logger()) {
        spdlog::set_default_logger(
            std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
        spdlog::set_pattern("%v");
    }
    ~Logged() { spdlog::set_default_logger(before_); }
    Logged(const Logged &) = delete;
    Logged &operator=(const Logged &) = delete;
    std::string text() const { return text_.str(); }

  private:
    std::ostringstream text_;
    std::shared_ptr<spdlog::logger> before_;
};

struct KeptTicks : analysis::TraceObserver {
    void on_tick(core::Tick tick) override { reported.push_back(documents::tick_json(tick)); }
    std::vector<std::string> reported;
};

class TracerTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "rsslag-tracer-XXXXXX").string();
        directory_ = mkdtemp(name.data());
        auto kernel = std::make_unique<NoKernel>();
        kernel_ = kernel.get();
        Tracer::Options options;
        options.samples.period = 64;
        options.observer = &kept_;
        tracer_.emplace(Tracer::over(std::move(kernel), options));
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string file() const { return (directory_ / "trace.rsslag").string(); }
    void record(std::optional<std::uint64_t> most = std::nullopt) {
        recording::Writer::Options options;
        options.max_bytes = most;
        auto writer = recording::Writer::create(file(), options);
        ASSERT_TRUE(writer);
        recording::Header header;
        header.threads = static_cast<std::uint8_t>(core::ThreadChoice{}.which);
        writer_ = &tracer_->record(std::move(*writer), header);
    }
    /// Some updates, collected now and then, and a tick.
    void round(int lost = 0) {
        for (int i = 0; i < 20; ++i) {
            kernel_->update(i < lost);
            if (i % 5 == 0) tracer_->collect();
        }
        kernel_->sleep(5'000'000);
        tracer_->tick();
    }
    void end() {
        tracer_->stop();
        reported_.push_back(documents::summary_json(tracer_->summary()));
        EXPECT_TRUE(writer_->finish());
    }
    static std::vector<std::string> replay_lines(const std::string &path) {
        KeptTicks observer;
        auto replay = analysis::Replay::open(path, &observer, {});
        EXPECT_TRUE(replay);
        while (replay->step()) {
        }
        analysis::ReplayResult end = replay->finish();
        EXPECT_TRUE(end.complete);
        observer.reported.push_back(documents::summary_json(end.summary));
        return observer.reported;
    }

    std::filesystem::path directory_;
    NoKernel *kernel_ = nullptr;
    KeptTicks kept_;
    std::optional<Tracer> tracer_;
    recording::Writer *writer_ = nullptr;  ///< of record()
    std::vector<std::string> &reported_ = kept_.reported;
};

TEST_F(TracerTest, RecordsWhatReplaysAsItWasReported) {
    record();
    ASSERT_TRUE(tracer_->attach(kPid));
    for (const int lost : {0, 0, 3, 0, 1}) {
        if (lost == 1) kernel_->fold();
        round(lost);
    }
    end();
    EXPECT_EQ(reported_.size(), 6U);
    EXPECT_NE(reported_.at(2).find("\"lost\":3,"), std::string::npos) << reported_.at(2);
    EXPECT_EQ(replay_lines(file()), reported_);
}

TEST_F(TracerTest, CopiesLessOfStacksOnceForEachLossOfSamples) {
    ASSERT_TRUE(tracer_->attach(kPid));
    round();
    EXPECT_EQ(kernel_->copied_less(), 0);
    kernel_->lose_samples();
    round();
    round();
    EXPECT_EQ(kernel_->copied_less(), 1);
    kernel_->lose_samples();
    round();
    EXPECT_EQ(kernel_->copied_less(), 2);
}

TEST_F(TracerTest, ForgetsTheCodeOfAProcessThatIsNotTraced) {
    constexpr int kUntraced = 99;
    ASSERT_TRUE(tracer_->attach(kPid));
    kernel_->map_program(kUntraced);
    tracer_->collect();
    kernel_->sample(kUntraced);
    tracer_->collect();
    EXPECT_TRUE(kernel_->listed().empty()) << "its code is known";
    kernel_->sleep(100'000'000);  // no record has shown that it is traced
    tracer_->collect();
    tracer_->collect();
    kernel_->sample(kUntraced);
    tracer_->collect();
    EXPECT_EQ(kernel_->listed(), std::vector<int>{kUntraced});
}

TEST_F(TracerTest, SaysOnceThatAProcessHasNoTicksAsItCannotBeRead) {
    const Logged log;
    record();
    ASSERT_TRUE(tracer_->attach(kPid));
    round();
    kernel_->refuse(true);
    round();
    round();
    EXPECT_EQ(reported_.size(), 1U);
    const std::string result =
        "4711 (worker) is not shown while it cannot be read: cannot read it: Too many open files; raise it\n";
    EXPECT_EQ(log.text(), result);
    kernel_->refuse(false);
    round();
    EXPECT_EQ(reported_.size(), 2U) << "the process has ticks again";
    end();
    EXPECT_EQ(log.text(), result + "1 process could not be read for a part of the time; 2 readings failed\n");
    EXPECT_NE(reported_.back().find("\"readings_failed\":2,"), std::string::npos) << reported_.back();
    EXPECT_EQ(replay_lines(file()), reported_);
}

TEST_F(TracerTest, RecordsThatAProcessWhichMatchesIsNotTraced) {
    const Logged log;
    record();
    ASSERT_TRUE(tracer_->attach(kPid));
    round();
    kernel_->refuse(true);
    for (int i = 0; i < 2; ++i) {
        const core::Status attached = tracer_->attach(kPid + 1);
        ASSERT_FALSE(attached);
        tracer_->not_attached(kPid + 1, attached.error());
    }
    tracer_->not_attached(kPid + 2, {core::Kind::Gone, "it has ended", 0, ""});
    kernel_->refuse(false);
    round();
    end();
    const std::string result = R"("processes_not_traced":1,"not_traced_reason":"cannot read it: Too many open files",)";
    EXPECT_NE(reported_.back().find(result), std::string::npos) << reported_.back();
    EXPECT_EQ(replay_lines(file()), reported_);
}

TEST_F(TracerTest, RecordsFromAKeyOnThatAProcessWhichMatchesIsNotTraced) {
    const Logged log;
    ASSERT_TRUE(tracer_->attach(kPid));
    tracer_->not_attached(kPid + 1, {core::Kind::Denied, "cannot read it", 0, ""});
    round();
    record();
    round();
    end();
    EXPECT_NE(replay_lines(file()).back().find(R"("processes_not_traced":1,)"), std::string::npos);
}

TEST_F(TracerTest, LeavesAProcessThatMatchedByAnExecToItsRecords) {
    probe::Pattern pattern;
    pattern.uid = 1;
    ASSERT_TRUE(tracer_->attach_matching(pattern));
    kernel_->match(kPid);
    ASSERT_TRUE(tracer_->attach(kPid));
    EXPECT_FALSE(tracer_->pids().contains(kPid)) << "its counters at the exec are the baseline, not those of now";
    kernel_->exec();  // a record is lost
    tracer_->collect();
    ASSERT_TRUE(tracer_->attach(kPid));
    EXPECT_TRUE(tracer_->pids().contains(kPid));
}

TEST_F(TracerTest, TracesNoProcessThatGotTheNumberOfOneTakenUp) {
    using analysis::test::kMm;
    ASSERT_TRUE(tracer_->attach(kPid));
    round();
    kernel_->exec();
    tracer_->tick();
    EXPECT_TRUE(kernel_->traces(kPid, kMm + 0x1000));
    kernel_->exec();
    kernel_->reuse();
    tracer_->tick();
    EXPECT_FALSE(kernel_->traces(kPid, kMm + 0x2000)) << "it has ended before it could be traced";
}

TEST_F(TracerTest, MatchesByTheCgroupThatHasThePathNow) {
    namespace fs = std::filesystem;
    const fs::path service = directory_ / "service", next = directory_ / "next";
    fs::create_directory(service);
    probe::Pattern pattern;
    pattern.cgroup = service.string();
    ASSERT_TRUE(tracer_->attach_matching(pattern));
    tracer_->renew_cgroup();
    EXPECT_EQ(kernel_->times_matched(pattern.cgroup), 1U);
    fs::create_directory(next);  // before the removal, so that it has another inode
    fs::remove(service);
    tracer_->renew_cgroup();
    EXPECT_EQ(kernel_->times_matched(pattern.cgroup), 1U) << "the path has no cgroup at present";
    fs::rename(next, service);
    tracer_->renew_cgroup();
    tracer_->renew_cgroup();
    EXPECT_EQ(kernel_->times_matched(pattern.cgroup), 2U);
}

struct AtRest {
    bool for_screen = true;
    std::size_t many = 0;
    int seconds = 0;
    std::uint64_t rest_after_ns = Tracer::Options().rest_after_ns;
    int processes = 1;
    int ticks_per_second = 1;
    bool updates_at_last = false;
    bool all_at_last = false;
    int shown = 0;
};
struct Taken {
    std::size_t ticks = 0, listings = 0;
    std::string last;  ///< tick
};

/// How often the processes are read in so many seconds without an update.
Taken taken(const AtRest &rest) {
    auto source = std::make_unique<NoKernel>();
    NoKernel &kernel = *source;
    KeptTicks kept;
    Tracer::Options options;
    options.observer = &kept;
    options.for_screen = rest.for_screen;
    options.many = rest.many;
    options.rest_after_ns = rest.rest_after_ns;
    options.names = true;
    Tracer tracer = Tracer::over(std::move(source), options);
    for (int i = 0; i < rest.processes; ++i)
        EXPECT_TRUE(tracer.attach(kPid + 1000 * i));
    tracer.show(rest.shown);
    const int last = rest.seconds * rest.ticks_per_second;
    for (int tick = 1; tick <= last; ++tick) {
        if (rest.updates_at_last && tick == last) kernel.update();
        if (rest.all_at_last && tick == last) tracer.read_all();
        kernel.sleep(1'000'000'000U / static_cast<unsigned>(rest.ticks_per_second));
        tracer.tick();
    }
    return {kept.reported.size(), kernel.listed().size(), kept.reported.empty() ? "" : kept.reported.back()};
}

TEST(TracerAtRest, ReadsProcessesLessOftenIfThereAreManyOnAScreen) {
    EXPECT_EQ(taken({.seconds = 2, .processes = 5}).ticks, 5 * 2U);
    EXPECT_EQ(taken({.seconds = 5, .rest_after_ns = 6'000'000'000, .processes = 5}).ticks, 5 * 5U);
    const std::size_t rested = taken({.seconds = 100, .processes = 5}).ticks;
    EXPECT_GE(rested, 5 * 2U + 98U) << "at least one in each second";
    EXPECT_LE(rested, 5 * 3U + 99U);
    const std::string last = taken({.seconds = 101, .processes = 5, .updates_at_last = true}).last;
    EXPECT_NE(last.find("\"pid\":4711,"), std::string::npos) << "an update ends the rest: " << last;
    const std::size_t all = taken({.seconds = 50, .processes = 50, .all_at_last = true}).ticks;
    EXPECT_EQ(all, taken({.seconds = 49, .processes = 50}).ticks + 50);
    EXPECT_GE(taken({.seconds = 1000, .processes = 5, .shown = kPid + 1000}).ticks,
              taken({.seconds = 1000, .processes = 5}).ticks + 4 * 20U)
        << "the others are read, too";
    EXPECT_EQ(taken({.many = 400, .seconds = 100, .processes = 5}).ticks, 500U) << "few processes";
    EXPECT_EQ(taken({.for_screen = false, .seconds = 100, .processes = 5}).ticks, 500U) << "output for programs";
}

TEST(TracerAtRest, ReadsOnceASecondIfTicksComeMoreOften) {
    const std::size_t rested = taken({.seconds = 20, .ticks_per_second = 10}).ticks;
    EXPECT_GE(rested, 20U);
    EXPECT_LE(rested, 22U);
    EXPECT_EQ(taken({.seconds = 20, .ticks_per_second = 10, .updates_at_last = true}).ticks, rested + 1);
    EXPECT_EQ(taken({.many = 400, .seconds = 20, .ticks_per_second = 10}).ticks, 200U);
}

TEST(TracerAtRest, ListsMappingsOnlyOfProcessesThatItReads) {
    EXPECT_EQ(taken({.many = 400, .seconds = 300, .processes = 50}).listings, 50 * 31U) << "and at the attach";
    const Taken many = taken({.seconds = 300, .processes = 50});
    EXPECT_GE(many.listings, 50 * 4U);
    EXPECT_LE(many.listings, 50 * 4U + (many.ticks - 50 * 2U));
    EXPECT_LE(many.listings, 50 * 20U);
}

TEST_F(TracerTest, RecordsTwiceAtATime) {
    record();
    ASSERT_TRUE(tracer_->attach(kPid));
    round();
    recording::Header header;
    header.threads = static_cast<std::uint8_t>(core::ThreadChoice{}.which);
    recording::Writer &kept = tracer_->record(recording::Writer::in_memory({}), header);
    const std::size_t before = reported_.size();
    round();
    ASSERT_TRUE(kept.save(file() + ".late"));
    round();
    recording::Writer ended = tracer_->end_recording(kept);
    EXPECT_TRUE(ended.finish());
    const std::size_t at_end = reported_.size();
    round();
    end();
    const auto whole = replay_lines(file());
    EXPECT_EQ(whole, reported_) << "another recording changes nothing";
    const auto late = replay_lines(file() + ".late");
    ASSERT_EQ(late.size(), at_end - before + 1);
    const auto held = [](const std::string &tick) {
        const std::size_t from = tick.find("\"flushed\"");
        return tick.substr(from, tick.find("\"bound\"") - from);
    };
    EXPECT_EQ(held(late[0]), held(reported_[before]));
    EXPECT_EQ(held(late[1]), held(reported_[before + 1]));
}

TEST_F(TracerTest, StartsEachSegmentWithTheStateOfThatMoment) {
    record(std::uint64_t{1} << 20);
    ASSERT_TRUE(tracer_->attach(kPid));
    round();
    tracer_->next_segment(*writer_);
    const std::size_t before = reported_.size();
    round(2);
    round();
    end();
    const auto newest = replay_lines(file());
    ASSERT_EQ(newest.size() + before, reported_.size());
    // Time and totals count from the start of the segment; the held amounts do not.
    const auto held = [](const std::string &tick) {
        const std::size_t from = tick.find("\"flushed\"");
        return tick.substr(from, tick.find("\"bound\"") - from);
    };
    EXPECT_EQ(held(newest[0]), held(reported_[before]));
    EXPECT_EQ(held(newest[1]), held(reported_[before + 1]));
    const auto oldest = replay_lines(file() + ".0000");
    ASSERT_EQ(oldest.size(), before + 1);
    EXPECT_EQ(oldest[0], reported_[0]);
}

}  // namespace
}  // namespace rsslag::tracer
