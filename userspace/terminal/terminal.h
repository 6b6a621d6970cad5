// SPDX-License-Identifier: BSD-2-Clause
// The terminal that shows a grid and returns keys, by ncursesw. There can be only one, since the state of curses is
// global.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "screen/screen.h"

namespace rsslag::terminal {

class Terminal {
  public:
    /// Whether stdin and stdout are a terminal that can be drawn on: TERM is known and it can place its cursor.
    static bool possible();

    /// Takes over the terminal; the locale must be set. The destructor restores it. A signal that ends the program
    /// restores it, too. Kind::Unsupported if curses cannot use the terminal.
    static core::Result<Terminal> open(bool color, bool mouse);

    ~Terminal();
    Terminal(Terminal &&) noexcept;
    Terminal &operator=(Terminal &&) = delete;

    documents::Size size() const;
    /// Draws the cells that have changed. Blocks while the terminal accepts no output.
    void draw(const documents::Grid &grid);
    /// Makes the next draw() paint every cell: after a resize, or if another process may have written.
    void resize();
    /// Restores the terminal, stops the process as TSTP does, and takes the terminal over again after CONT.
    void suspend();
    /// Takes the terminal over again after a stop without suspend(), e.g. by SIGSTOP.
    void resume();

    /// Asks the terminal to put a text into its clipboard (OSC 52), which a terminal may ignore.
    void copy(std::string_view text);

    /// A turn of the wheel is three keys Up or Down.
    std::vector<screen::Key> keys();
    /// What a click on the last drawn grid means; nullopt: nothing.
    std::optional<documents::Click> click_at(int row, int column) const;
    /// `on`: typed_bytes() returns every typed byte, including those that otherwise send a signal.
    void pass_through(bool on);
    std::string typed_bytes();

  private:
    struct State;
    explicit Terminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::terminal
