// SPDX-License-Identifier: BSD-2-Clause
// The screen: ticks and keys in, a grid of cells and intents out. Pure: no terminal, no clock. What draws a live trace
// draws any other sequence of ticks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rsslag/core/reading.h"
#include "rsslag/view/grid.h"
#include "rsslag/view/tick.h"

namespace rsslag::view {

struct Key {
    enum class Name : std::uint8_t {
        Character,
        Up,
        Down,
        Left,
        Right,
        PageUp,
        PageDown,
        Home,
        End,
        Enter,
        Escape,
        Backspace,
        Tab
    };
    Name name = Name::Character;
    char32_t character = 0;
};

// What a key asks of whoever runs the trace.
struct Quit {};
struct Back {};  ///< to the list of processes
struct WalkNow {
    int pid = 0;
};
struct SetInterval {
    std::chrono::milliseconds interval{};
};
struct OpenLive {
    int pid = 0;
};
struct TypeToCommand {};  ///< keys go to CMD from now on
/// A recording begins here, or the one that goes on ends.
struct Record {
    int pid = 0;  ///< that is shown
};
/// What a replay is to do. Steps are ticks; NextFlush, NextLoss and Peak stop there.
struct Play {
    enum class What : std::uint8_t {
        Toggle,
        StepOn,
        StepBack,
        Faster,
        Slower,
        SeekBy,
        SeekTo,
        NextFlush,
        NextLoss,
        Peak
    };
    What what = What::Toggle;
    double amount = 0;  ///< SeekBy: seconds; SeekTo: the part of the whole, 0 to 1
};
using Intent = std::variant<Quit, Back, WalkNow, SetInterval, OpenLive, TypeToCommand, Record, Play>;

/// Where a replay is.
struct Playback {
    std::uint64_t t_ns = 0;    ///< since the recording began
    std::uint64_t end_ns = 0;  ///< how long it is
    double speed = 1;          ///< 1: as it was
    bool playing = true;
};

/// What is known before the first tick.
struct ScreenFacts {
    std::string kernel;
    core::Machine machine;
    std::chrono::system_clock::time_point boot;
    std::int64_t clock_ticks = 100;  ///< a second, of start_ticks
    std::chrono::milliseconds interval{1000};
    bool walks = true;                 ///< smaps is walked now and then
    bool below = false;                ///< Esc leads back to the list of processes
    std::optional<Playback> playback;  ///< of a recording
};

/// CMD of `-- CMD`: what it wrote and how it ended.
struct CommandOutput {
    std::string name;                ///< raw bytes
    std::string file;                ///< where it is kept
    std::vector<std::string> lines;  ///< the last ones, raw bytes
    std::uint64_t bytes = 0;         ///< written so far
    std::uint64_t kept = 0;          ///< of them in the file: the first ones
    std::string why_not_kept;        ///< the others; empty: all are
    bool running = true;
    std::optional<int> status;  ///< as shells give it
};

struct LiveState;
struct TopState;

/// One or more processes that are traced; one of them is shown.
class LiveScreen {
  public:
    LiveScreen(ScreenFacts facts, TextStyle style);
    ~LiveScreen();
    LiveScreen(LiveScreen &&) noexcept;
    LiveScreen &operator=(LiveScreen &&) noexcept;

    void take(Tick tick);
    void take(CommandOutput output);
    void take(const Playback &playback);
    /// What ticks told is forgotten; what keys have chosen is not.
    void rewind();
    /// Shown until the next key.
    void notify(std::string notice);
    void type_to_command(bool on);
    /// Whether a recording goes on.
    void record(bool on);
    bool command_runs() const;
    /// Records, as the last tick told.
    std::uint64_t lost() const;

    std::optional<Intent> key(const Key &key);

    /// `since_tick`: how long ago the last tick came.
    Grid draw(Size size, std::chrono::milliseconds since_tick) const;

  private:
    std::unique_ptr<LiveState> state_;
};

/// A process as `top` lists it.
struct TopProcess {
    core::ProcessTotal total;
    std::string mm_id;  ///< as ProcessReading's; empty where nobody asked for it

    /// exact − what /proc/PID/stat says, which is what is flushed, no member below 0 (fs/proc/array.c do_task_stat).
    core::Pages lag() const { return core::lag(total.exact(), total.flushed); }
};

/// All processes at one moment, as one pass of the iterator read them.
struct TopTable {
    std::chrono::system_clock::time_point time;
    std::string kernel;
    std::string arch;
    core::Machine machine;
    core::Calibration calibration;
    std::vector<TopProcess> processes;
    std::int64_t pass_us = 0;  ///< of the pass of the iterator
    OwnCost own;
};

enum class TopSort : std::uint8_t { Lag, Exact, Cached, Name };
std::string_view name(TopSort sort);

/// Largest first, names ascending; ties by PID.
void sort_top(std::vector<TopProcess> &processes, TopSort sort);

/// `--once`: sorted, the first `rows` of them (0: all), as text and as rsslag.top/1 (docs/schema/top.schema.json).
std::string top_text(TopTable table, TopSort sort, std::size_t rows, const TextStyle &style);
std::string top_json(TopTable table, TopSort sort, std::size_t rows);

class TopScreen {
  public:
    TopScreen(std::chrono::milliseconds interval, TextStyle style, TopSort sort);
    ~TopScreen();
    TopScreen(TopScreen &&) noexcept;
    TopScreen &operator=(TopScreen &&) noexcept;

    void take(TopTable table);
    /// A walk that was asked for, or why there is none.
    void take(const ProcessReading &reading);
    void notify(std::string notice);

    std::optional<Intent> key(const Key &key);
    Grid draw(Size size) const;

  private:
    std::unique_ptr<TopState> state_;
};

}  // namespace rsslag::view
