// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.h"
#include "screen/screen.h"

namespace rsslag::terminal {

/// The screens: the list of processes, and on top of it the trace of one.
struct Shown {
    std::optional<screen::TopScreen> top;
    std::optional<screen::LiveScreen> live;
};

/// A thread that draws and reads the keyboard. The caller never waits for the terminal: changes wait in a bounded
/// queue, which drops the oldest ones. While the screen is open nothing else may write to the terminal; log messages
/// are kept and written after it is closed.
class Screen {
  public:
    /// Whether stdin and stdout are a terminal that can be drawn on.
    static bool possible();
    /// Blocks TSTP, CONT and WINCH, which the screen's thread reads. Call it before any other thread is started.
    static void block_signals();

    /// Takes over the terminal and starts the thread. Kind::Unsupported if curses cannot use the terminal,
    /// Kind::Internal if there are no file descriptors left.
    static core::Result<Screen> open(const documents::TextStyle &style);
    /// Restores the terminal, also if it is blocked (Ctrl-S).
    ~Screen();
    Screen(Screen &&) noexcept;
    Screen &operator=(Screen &&) = delete;

    using Change = std::function<void(Shown &)>;
    /// If too many changes wait, the oldest are dropped, and ReadAll is among the next intents. `processes`: how many
    /// have such changes; the limit is higher if they are more.
    void post(Change change, std::size_t processes = 0);
    /// The intents of keys since the last call. Rethrows the exception that ended the screen's thread.
    std::vector<screen::Intent> intents();
    /// Whether Quit is among the intents, which stay queued.
    bool asked_to_quit();
    /// Sets the receiver of bytes typed for CMD, which returns whether it has taken them. The screen's thread calls it.
    void on_typed(std::function<bool(const std::string &)> typed);

  private:
    struct State;
    explicit Screen(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::terminal
