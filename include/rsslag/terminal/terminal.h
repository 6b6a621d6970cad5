// SPDX-License-Identifier: BSD-2-Clause
// The terminal that a grid is shown on and keys come from. ncursesw does the diffing. One at a time: curses is global.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/view/screen.h"

namespace rsslag::terminal {

class Terminal {
  public:
    /// Whether stdin and stdout are a terminal that can be drawn on: TERM is known and it can place its cursor.
    static bool possible();

    /// Takes it over; the locale must be set. Restored by the destructor, and by whatever signal of a crash ends the
    /// program.
    static core::Result<Terminal> open(bool color);

    ~Terminal();
    Terminal(Terminal &&) noexcept;
    Terminal &operator=(Terminal &&) = delete;

    view::Size size() const;
    /// Waits for as long as the terminal takes nothing.
    void draw(const view::Grid &grid);
    /// The next draw() paints every cell, after a resize or when somebody else may have written.
    void resize();
    /// Gives the terminal back, stops the process as TSTP does, and takes the terminal again once it goes on.
    void suspend();
    /// Takes it again after a stop that nobody told of.
    void resume();

    std::vector<view::Key> keys();
    /// Every byte as it is typed, those that would be signals included.
    void pass_through(bool on);
    std::string typed_bytes();

  private:
    struct State;
    explicit Terminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::terminal
