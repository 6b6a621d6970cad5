// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"
#include "rsslag/view/screen.h"

namespace rsslag::terminal {

/// A terminal of CMD's own, so that what it writes never lands on the screen: all of it goes to a file, the last lines
/// are kept for the screen, and what is typed for it goes in. A thread of its own reads, so that CMD never waits.
class CommandTerminal {
  public:
    static core::Result<CommandTerminal> open();
    ~CommandTerminal();
    CommandTerminal(CommandTerminal &&) noexcept;
    CommandTerminal &operator=(CommandTerminal &&) = delete;

    /// For CMD's stdin, stdout and stderr.
    int command_side() const;
    /// Once CMD has its side: begins to read.
    void start();
    /// The file belongs to whoever CMD runs as.
    void give_file_to(unsigned uid, unsigned gid);
    /// Where what CMD wrote is, and what of it is not; empty where it wrote nothing, and then there is no file either.
    /// Once hung up.
    std::string kept() const;

    /// What was typed; dropped where CMD reads none of it.
    void type(const std::string &bytes);
    /// What came since the last call, as the screen shows it; nullopt: nothing.
    std::optional<view::CommandOutput> take_output();
    /// Closes CMD's terminal: HUP for what still uses it.
    void hang_up();

  private:
    struct State;
    explicit CommandTerminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::terminal
