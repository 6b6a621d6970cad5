// SPDX-License-Identifier: BSD-2-Clause
// The state of the screen, which takes ticks and keys and returns a grid of cells and intents. Pure: no terminal, no
// clock. A replay uses the same code as a live trace.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/reading.h"
#include "documents/grid.h"
#include "documents/tick.h"
#include "documents/top.h"
#include "profile/profile.h"

namespace rsslag::screen {

using documents::Area;
using documents::Click;
using documents::Grid;
using documents::LoggedFlush;
using documents::Look;
using documents::OwnCost;
using documents::ProcessReading;
using documents::Size;
using documents::TextStyle;
using documents::Tick;
using documents::TopProcess;
using documents::TopSort;
using documents::TopTable;

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
        Tab,
        Help,
        Click  ///< on a cell
    };
    Name name = Name::Character;
    char32_t character = 0;
    int row = 0, column = 0;  ///< of a click
};

// Intents: requests of a key to the session that runs the trace.
struct Quit {};
struct Back {};  ///< to the list of processes
/// Reads all processes soon, also those at rest: ticks of them were dropped.
struct ReadAll {};
/// Walks the page tables of this process soon, outside of the usual intervals.
struct WalkNow {
    int pid = 0;
};
/// Another process is shown, or the list.
struct Show {
    int pid = 0;  ///< 0: the list
};
struct SetInterval {
    std::chrono::milliseconds interval{};
};
/// Traces this process and opens its screen.
struct OpenLive {
    int pid = 0;
};
struct TypeToCommand {};  ///< later keys are input of CMD
struct Copy {};           ///< copies the selected row to the clipboard of the terminal
/// Starts a recording, or ends the one in progress.
struct Record {
    int pid = 0;        ///< the process on the screen
    bool past = false;  ///< with what was kept of the past
};
/// A command to a replay. A step is one tick; NextFlush, NextLoss and Peak pause at their target.
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
    double amount = 0;  ///< SeekBy: seconds; SeekTo: a fraction of the recording, 0 to 1
};
using Intent =
    std::variant<Quit, Back, ReadAll, WalkNow, Show, SetInterval, OpenLive, TypeToCommand, Copy, Record, Play>;

/// The position and speed of a replay.
struct Playback {
    std::uint64_t t_ns = 0;    ///< since the start of the recording
    std::uint64_t end_ns = 0;  ///< length of the recording
    double speed = 1;          ///< 1: as recorded
    bool playing = true;
    /// What has happened, as far as the recording was read.
    struct Mark {
        enum class What : std::uint8_t { Loss, Exec, Peak };
        std::uint64_t t_ns = 0;  ///< since the start of the recording
        What what = What::Loss;
    };
    std::vector<Mark> marks{};
};

/// Facts that are known before the first tick.
struct ScreenFacts {
    std::string kernel;
    core::Machine machine;
    std::chrono::system_clock::time_point boot;
    std::int64_t clock_ticks = 100;  ///< per second; the unit of start_ticks
    std::chrono::milliseconds interval{1000};
    bool walks = true;                                  ///< smaps is walked; false with --no-walk
    bool no_match = false;                              ///< no process matched at the start
    std::uint32_t sample_period = 0;                    ///< pages to a sample of stacks; 0: there are none
    std::uint64_t history_ns = 600'000'000'000;         ///< how long ticks are kept, to show earlier moments; 0: not
    std::chrono::milliseconds kept{};                   ///< what the key r can record of the past; 0: nothing
    std::size_t history_bytes = std::size_t{64} << 20;  ///< what these ticks may take, about
    bool below = false;                                 ///< opened from the list of processes: Esc returns there
    std::optional<Playback> playback;                   ///< set if a recording is replayed
};

/// CMD of `-- CMD`: its output and how it ended.
struct CommandOutput {
    std::string name;                ///< raw bytes
    std::string file;                ///< path of the file that keeps the output
    std::vector<std::string> lines;  ///< the last lines, raw bytes
    std::uint64_t bytes = 0;         ///< number of bytes that CMD has written
    std::uint64_t kept = 0;          ///< number of them that are in the file, the first ones
    std::string why_not_kept;        ///< why the other bytes are not in the file; empty: all are in it
    bool running = true;
    std::optional<int> status;  ///< as shells report it
};

struct LiveState;
struct TopState;

/// The screen of a trace: a list of its processes if there are several, and one of them.
class LiveScreen {
  public:
    LiveScreen(ScreenFacts facts, TextStyle style);
    ~LiveScreen();
    LiveScreen(LiveScreen &&) noexcept;
    LiveScreen &operator=(LiveScreen &&) noexcept;

    /// `user`: the name of the process's user; empty: its number is shown. `cgroup`: empty: not known.
    void take(Tick tick, std::string user = {}, std::string cgroup = {});
    void take(CommandOutput output);
    void take(const Playback &playback);
    /// `from_ns`: the start of the period of the profile, since the attach.
    void take(std::shared_ptr<const profile::Profile> profile, std::uint64_t from_ns);
    /// Discards the data of all ticks and keeps the choices of the user.
    void rewind();
    /// Shows a notice until the next key.
    void notify(std::string notice);
    void type_to_command(bool on);
    /// Sets whether a recording is in progress.
    void record(bool on);
    bool command_runs() const;
    /// Lost records as of the last tick.
    std::uint64_t lost() const;
    /// PID of the process shown; 0: the list.
    int shown() const;

    std::optional<Intent> key(const Key &key);
    /// A click on the last drawn grid. One on a row selects it, one on the selected row is Enter.
    std::optional<Intent> click(const Click &click);

    /// `since_tick`: the time since the last tick.
    Grid draw(Size size, std::chrono::milliseconds since_tick) const;

  private:
    std::unique_ptr<LiveState> state_;
};

class TopScreen {
  public:
    TopScreen(std::chrono::milliseconds interval, TextStyle style, TopSort sort);
    ~TopScreen();
    TopScreen(TopScreen &&) noexcept;
    TopScreen &operator=(TopScreen &&) noexcept;

    void take(TopTable table);
    /// Shows the result of a walk that a key requested, or the reason why there is none.
    void take(const ProcessReading &reading);
    void notify(std::string notice);

    std::optional<Intent> key(const Key &key);
    /// As LiveScreen::click().
    std::optional<Intent> click(const Click &click);
    Grid draw(Size size) const;

  private:
    std::unique_ptr<TopState> state_;
};

}  // namespace rsslag::screen
