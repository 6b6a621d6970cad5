// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/view/screen.h"

namespace rsslag::terminal {

/// What can be shown: the list of processes, and above it one that is traced.
struct Shown {
    std::optional<view::TopScreen> top;
    std::optional<view::LiveScreen> live;
};

/// A thread that draws and reads the keyboard. Who calls never waits for the terminal: what it does not take in time
/// waits in a bounded queue, the oldest goes first. Until it is closed, nothing else may write to the terminal; what is
/// logged meanwhile is written after.
class Screen {
  public:
    /// stdin and stdout are a terminal that can be drawn on.
    static bool possible();
    /// Before any other thread is started: TSTP, CONT and WINCH are the screen's.
    static void block_signals();

    static core::Result<Screen> open(bool color);
    /// Gives the terminal back, also where it stands still.
    ~Screen();
    Screen(Screen &&) noexcept;
    Screen &operator=(Screen &&) = delete;

    using Change = std::function<void(Shown &)>;
    void post(Change change);
    /// What keys have asked for since the last call. Throws what the screen's thread could not go on for.
    std::vector<view::Intent> intents();
    /// Whether Quit is among these, which stay.
    bool asked_to_quit();
    /// Where keys go while they are the command's; called by the screen's thread.
    void on_typed(std::function<void(const std::string &)> typed);

  private:
    struct State;
    explicit Screen(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::terminal
