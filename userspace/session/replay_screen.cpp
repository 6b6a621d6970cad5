// SPDX-License-Identifier: BSD-2-Clause
#include "session/replay_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/tee.h"
#include "session/live_stacks.h"
#include "session/live_view.h"
#include "system/signals.h"
#include "terminal/screen.h"

namespace rsslag::session {
namespace {

using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using What = screen::Play::What;

constexpr double kSlowest = 1.0 / 16, kFastest = 1024;
constexpr milliseconds kKeys{50};          ///< how often keys are read, also during a long read of the file
constexpr milliseconds kAFrame{20};        ///< most time to read the file for one frame
constexpr std::uint64_t kFew = 4'000'000;  ///< this many records are read in less than a second

/// Ticks for the next frame. Drops the oldest beyond what a chart can use or memory should hold.
class Batch {
  public:
    void add(core::Tick tick) {
        constexpr std::size_t kMostTicks = 10'000;
        constexpr std::size_t kMostTasks = 200'000;
        tasks_ += tick.ledger.tasks.size();
        ticks_.push_back(std::move(tick));
        while (ticks_.size() > kMostTicks || (tasks_ > kMostTasks && ticks_.size() > 1)) {
            tasks_ -= ticks_.front().ledger.tasks.size();
            ticks_.pop_front();
        }
    }
    std::deque<core::Tick> take() {
        tasks_ = 0;
        return std::exchange(ticks_, {});
    }

  private:
    std::deque<core::Tick> ticks_;
    std::size_t tasks_ = 0;
};

/// Plays a recording: its position, speed and keys.
class Player : public analysis::TraceObserver {
  public:
    Player(std::string file, const analysis::ReplayOptions &options, documents::TextStyle style,
           system::StopSignals &stop)
        : file_(std::move(file)), options_(options), style_(std::move(style)), stop_(stop) {
        options_.for_screen = true;
        options_.stop = [this, spent = options.stop](std::uint64_t work) {
            spent_ = spent_ || (spent && spent(work));
            return leaving();
        };
    }

    Status open() {
        if (Status begun = begin(std::nullopt); !begun) return begun;
        if (replay_->header().sample_period > 0) {  // opens it again, now that it is known what is in it
            if (Status begun = begin(std::nullopt); !begun) return begun;
        }
        positions_ = replay_->positions();
        const std::uint64_t start_ns = replay_->header().start_ns;
        const std::uint64_t last_ns = positions_.empty() ? 0 : positions_.back().last_ns;
        end_ns_ = std::min(last_ns - std::min(last_ns, start_ns), kMostTime);
        if (const auto peak = replay_->peak()) know_peak(*peak);
        return core::success();
    }

    screen::ScreenFacts facts() const {
        const recording::Header &header = replay_->header();
        screen::ScreenFacts known =
            screen_facts(replay_->facts(), milliseconds(header.interval_ms), header.walk, false);
        known.boot =
            std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
                std::chrono::nanoseconds(header.boot_unix_ns)));
        known.clock_ticks = header.clock_ticks;
        known.playback = screen::Playback{};
        known.sample_period = header.sample_period;
        return known;
    }

    void run(terminal::Screen &screen, const ReplayStart &start) {
        screen_ = &screen;
        speed_ = std::clamp(start.speed, kSlowest, kFastest);
        seek(start.from_ns);
        auto before = Clock::now();
        while (!leaving()) {
            const auto now = Clock::now();
            if (playing_)
                play_until(t_ns_ + static_cast<std::uint64_t>(
                                       std::chrono::duration<double, std::nano>(now - before).count() * speed_));
            before = now;
            notify();
            if (start.answered && !leaving()) start.answered();
            if (stop_.wait(kKeys)) break;
            look_at_keys();
            while (!typed_.empty() && !leaving()) {
                const screen::Intent intent = typed_.front();
                typed_.pop_front();
                handle(intent);
                if (start.answered && !leaving()) start.answered();
            }
        }
    }

  private:
    void on_tick(core::Tick tick) override { pending_.push_back(std::move(tick)); }

    /// Opens the file at `from`, or at its start.
    Status begin(std::optional<recording::Position> from) {
        analysis::ReplayOptions chosen = options_;
        chosen.from = from;
        if (const std::uint32_t period = replay_ ? replay_->header().sample_period : 0; period > 0) {
            stacks_.emplace(period);
            both_.emplace(*this, *stacks_);
        }
        auto opened =
            both_ ? analysis::Replay::open(file_, &*both_, chosen) : analysis::Replay::open(file_, this, chosen);
        if (!opened) return opened.error();
        replay_.emplace(std::move(*opened));
        if (stacks_) {
            const std::uint64_t start_ns = replay_->header().start_ns;
            stacks_->begin(start_ns, from ? from->first_ns - std::min(from->first_ns, start_ns) : 0);
        }
        pending_.clear();
        shown_.clear();
        over_ = false;
        return core::success();
    }

    /// Queues the keys. The key to quit takes effect immediately, before keys typed earlier.
    void look_at_keys() {
        for (const screen::Intent &intent : screen_->intents()) {
            quit_ = quit_ || std::holds_alternative<screen::Quit>(intent);
            typed_.push_back(intent);
        }
    }

    /// Whether rsslag must end; also called during long reads of the file.
    bool leaving() {
        if (Clock::now() >= next_look_) {
            next_look_ = Clock::now() + kKeys;
            if (screen_ != nullptr) look_at_keys();
            quit_ = quit_ || stop_.stop_requested();
        }
        return quit_ || spent_;
    }

    /// Reads the next event; false: there is none, or rsslag must end.
    bool step(analysis::Replay &replay) { return !options_.stop(replay.work()) && replay.step(); }

    /// Reads until a tick is pending; false: there is none left.
    bool read_on() {
        while (pending_.empty() && !over_)
            over_ = !step(*replay_);
        return !pending_.empty();
    }

    /// Moves the first pending tick to the batch.
    void pass_on() {
        core::Tick tick = std::move(pending_.front());
        pending_.pop_front();
        reached_ns_ = tick.t_ns;
        mark(tick);
        lost_ = tick.lost;
        if (shown_.empty() || shown_.back() < tick.t_ns) shown_.push_back(tick.t_ns);
        batch_.add(std::move(tick));
    }

    /// Marks what a tick shows that no tick of a later time has shown.
    void mark(const core::Tick &tick) {
        constexpr std::size_t kMost = 1'000;
        using Mark = screen::Playback::Mark;
        if (tick.extremes.lag > highest_.lag) highest_ = {tick.extremes.lag_t_ns, tick.process.pid, tick.extremes.lag};
        if (tick.t_ns <= marked_until_ns_ || marks_.size() >= kMost) return;
        marked_until_ns_ = tick.t_ns;
        if (tick.lost > lost_) marks_.push_back({tick.t_ns, Mark::What::Loss});
        if (tick.state == core::State::Exec) marks_.push_back({tick.t_ns, Mark::What::Exec});
    }

    /// Marks the peak lag of the recording, unless it is known already.
    void know_peak(const recording::PeakLag &peak) {
        if (peak_) return;
        peak_ = peak;
        if (peak.lag.n > 0) marks_.push_back({peak.t_ns, screen::Playback::Mark::What::Peak});
    }

    /// Moves all pending ticks with the number of the first one: those of one moment.
    void pass_on_moment() {
        const std::uint64_t seq = pending_.front().seq;
        while (!pending_.empty() && pending_.front().seq == seq)
            pass_on();
    }

    /// Plays until `t_ns`. If that takes longer than a frame, stops early and continues in the next one: replay time
    /// slows down.
    void play_until(std::uint64_t t_ns) {
        const auto until = Clock::now() + kAFrame;
        while (read_on() && pending_.front().t_ns <= t_ns) {
            pass_on();
            if (Clock::now() >= until) {
                t_ns_ = reached_ns_;
                return;
            }
        }
        t_ns_ = std::min(t_ns, end_ns_);
        if (!over_ || !pending_.empty()) return;
        t_ns_ = std::max(end_ns_, reached_ns_), playing_ = false;
        if (!skipped_ && !leaving()) know_peak(highest_);
    }

    /// Sends the batch and the position to the screen, if either has changed.
    void notify() {
        if (rewound_) screen_->post([](terminal::Shown &shown) { shown.live->rewind(); });
        rewound_ = false;
        const screen::Playback playback{t_ns_, end_ns_, speed_, playing_, marks_};
        auto ticks = std::make_shared<std::deque<core::Tick>>(batch_.take());
        if (ticks->empty() && playing_ == reported_.playing && t_ns_ / kTenth == reported_.t_ns / kTenth &&
            speed_ == reported_.speed)
            return;
        reported_ = playback;
        if (stacks_ && (!ticks->empty() || t_ns_ >= end_ns_))
            post_stacks(*screen_, *stacks_);  // some come after the last tick
        screen_->post([playback, ticks](terminal::Shown &shown) {
            shown.live->take(playback);
            for (core::Tick &tick : *ticks)
                shown.live->take(std::move(tick));
        });
    }

    /// Where to start reading for the time `t_ns`. This is at least two intervals before it, for a first tick, and up
    /// to kFew records earlier. nullopt: at the start of the file.
    std::optional<recording::Position> position_for(std::uint64_t t_ns) const {
        const recording::Header &header = replay_->header();
        const std::uint64_t margin = 2 * header.interval_ms * 1'000'000;
        const std::uint64_t at = header.start_ns + t_ns;
        const auto after =
            std::partition_point(positions_.begin(), positions_.end(),
                                 [&](const recording::Position &position) { return position.first_ns + margin <= at; });
        if (after == positions_.begin()) return std::nullopt;
        const std::uint64_t records = std::prev(after)->records_before;
        const auto first = std::partition_point(positions_.begin(), after, [&](const recording::Position &position) {
            return position.records_before + kFew < records;
        });
        return first == positions_.begin() ? std::nullopt : std::optional(*first);
    }

    /// Reads the ticks up to `t_ns`.
    void read_until(std::uint64_t t_ns) {
        while (read_on() && pending_.front().t_ns <= t_ns && !leaving())
            pass_on();
    }

    void seek(std::uint64_t t_ns) {
        t_ns = std::min(t_ns, end_ns_);
        const auto position = position_for(t_ns);
        const std::uint64_t start_ns = replay_->header().start_ns;
        const bool far = position && position->first_ns > start_ns + reached_ns_;
        if (t_ns < reached_ns_ || far) {
            skipped_ = skipped_ || position;
            if (const Status begun = begin(position); !begun) return post_notice(*screen_, begun.error().what);
            batch_.take();
            rewound_ = true;
            reached_ns_ = 0;
        }
        read_until(t_ns);
        if (shown_.empty() && read_on()) pass_on_moment();  // before the first tick the screen would be empty
        t_ns_ = t_ns;
    }

    void step_on() {
        playing_ = false;
        if (!read_on()) return post_notice(*screen_, "this is the last tick");
        pass_on_moment();
        t_ns_ = reached_ns_;
    }

    void step_back() {
        playing_ = false;
        auto before = std::lower_bound(shown_.begin(), shown_.end(), reached_ns_);
        if (before == shown_.begin()) {
            const std::uint64_t interval = replay_->header().interval_ms * 1'000'000;
            return seek(reached_ns_ - std::min(reached_ns_, interval));
        }
        seek(*std::prev(before));
    }

    /// Goes to the next tick for which `holds` returns true.
    void seek_to_next(const char *what, const std::function<bool(const core::Tick &)> &holds) {
        playing_ = false;
        const std::uint64_t here = t_ns_;
        while (read_on()) {
            const bool found = holds(pending_.front());
            pass_on_moment();
            if (found) {
                t_ns_ = reached_ns_;
                return;
            }
            if (leaving()) return;
        }
        if (leaving()) return;
        post_notice(*screen_, fmt::format("there is no {} after this", what));
        seek(here);
    }

    void seek_to_peak() {
        playing_ = false;
        if (!peak_)
            if (const auto peak = find_peak()) know_peak(*peak);
        if (!peak_) return;
        if (peak_->lag.n <= 0) return post_notice(*screen_, "nothing lags in this recording");
        seek(peak_->t_ns);
        post_notice(*screen_, fmt::format("peak lag: {}, of PID {}",
                                          style_.pages(peak_->lag, replay_->facts().machine.page_size), peak_->pid));
    }

    /// Reads the whole file for the peak lag; nullopt: rsslag must end, or the file cannot be opened.
    std::optional<recording::PeakLag> find_peak() {
        post_notice(*screen_, "looking for the peak lag");
        analysis::ReplayOptions quick;
        quick.threads = core::ThreadChoice{core::ThreadChoice::Which::None, 0};
        quick.stop = options_.stop;
        auto all = analysis::Replay::open(file_, nullptr, quick);
        if (!all) return std::nullopt;
        while (step(*all)) {
        }
        if (leaving()) return std::nullopt;  // the file was not read to its end
        return analysis::peak_of(all->finish().summary);
    }

    void handle(const screen::Intent &intent) {
        const auto *const play = std::get_if<screen::Play>(&intent);
        if (play == nullptr) return;
        const auto at = static_cast<double>(t_ns_);
        switch (play->what) {
            case What::Toggle:
                if (!playing_ && over_ && pending_.empty()) seek(0);
                playing_ = !playing_;
                break;
            case What::StepOn: step_on(); break;
            case What::StepBack: step_back(); break;
            case What::Faster: speed_ = std::min(speed_ * 2, kFastest); break;
            case What::Slower: speed_ = std::max(speed_ / 2, kSlowest); break;
            case What::SeekBy:
                seek(
                    static_cast<std::uint64_t>(std::clamp(at + play->amount * 1e9, 0.0, static_cast<double>(end_ns_))));
                break;
            case What::SeekTo: seek(static_cast<std::uint64_t>(static_cast<double>(end_ns_) * play->amount)); break;
            case What::NextFlush:
                seek_to_next("flush", [](const core::Tick &tick) { return !tick.last_flushes.empty(); });
                break;
            case What::NextLoss:
                seek_to_next("loss", [lost = lost_](const core::Tick &tick) { return tick.lost > lost; });
                break;
            case What::Peak: seek_to_peak(); break;
        }
    }

    static constexpr std::uint64_t kTenth = 100'000'000;
    static constexpr std::uint64_t kMostTime = std::uint64_t{1} << 62;  ///< its double and differences still fit

    std::string file_;
    analysis::ReplayOptions options_;
    documents::TextStyle style_;
    system::StopSignals &stop_;
    terminal::Screen *screen_ = nullptr;
    std::optional<analysis::Replay> replay_;
    std::optional<LiveStacks> stacks_;  ///< if the recording has samples
    std::optional<analysis::Tee> both_;
    std::vector<recording::Position> positions_;
    std::deque<core::Tick> pending_;          ///< read, but not shown yet
    Batch batch_;                             ///< to be shown with the next frame
    std::vector<std::uint64_t> shown_;        ///< times of the ticks shown since begin(), ascending
    std::optional<recording::PeakLag> peak_;  ///< nullopt: not known yet
    recording::PeakLag highest_;              ///< of the ticks read
    bool skipped_ = false;                    ///< a part of the file was not read
    std::deque<screen::Intent> typed_;        ///< not handled yet
    Clock::time_point next_look_;
    std::uint64_t t_ns_ = 0;        ///< the present position
    std::uint64_t reached_ns_ = 0;  ///< time of the last tick shown
    std::uint64_t end_ns_ = 0;
    std::uint64_t lost_ = 0;
    std::vector<screen::Playback::Mark> marks_;
    std::uint64_t marked_until_ns_ = 0;
    double speed_ = 1;
    screen::Playback reported_;
    bool playing_ = true;
    bool over_ = false;     ///< the file is read to its end
    bool rewound_ = false;  ///< the screen must drop its ticks
    bool quit_ = false;
    bool spent_ = false;  ///< options.stop has returned true
};

}  // namespace

core::Status replay_on_screen(const std::string &file, const analysis::ReplayOptions &options, const ReplayStart &start,
                              const documents::TextStyle &style) {
    system::StopSignals stop;
    Player player(file, options, style, stop);
    if (Status opened = player.open(); !opened) return opened;
    terminal::Screen::block_signals();
    auto screen = terminal::Screen::open(style);
    if (!screen) return screen.error();
    screen->post([facts = player.facts(), style](terminal::Shown &shown) { shown.live.emplace(facts, style); });
    player.run(*screen, start);
    return core::success();
}

}  // namespace rsslag::session
