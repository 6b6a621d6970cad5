// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/fd.h"
#include "core/result.h"
#include "screen/screen.h"

namespace rsslag::terminal {

/// A pseudoterminal for CMD, so that CMD never writes on the screen. All of its output goes to a file, the last lines
/// are kept for the screen, and typed keys are its input. A separate thread reads, so that CMD never blocks.
class CommandTerminal {
  public:
    /// Kind::Internal if the terminal or the file (in $TMPDIR, else /tmp) cannot be created.
    static core::Result<CommandTerminal> open();
    ~CommandTerminal();
    CommandTerminal(CommandTerminal &&) noexcept;
    CommandTerminal &operator=(CommandTerminal &&) = delete;

    /// The descriptor for CMD's stdin, stdout and stderr; valid until start().
    int command_side() const;
    /// Closes rsslag's copy of command_side() and starts to read. Call it after CMD has inherited the descriptor.
    void start();
    /// Gives the file and the terminal to the user that CMD runs as.
    void give_file_to(unsigned uid, unsigned gid);
    /// A sentence with the path of the file and the amount that it lacks. Empty if CMD wrote nothing, in which case the
    /// file is removed. Call it after hang_up().
    std::string kept() const;

    /// Sends typed bytes to CMD as soon as its terminal takes them. false: too many are waiting, and these are dropped.
    bool type(const std::string &bytes);
    /// The output as the screen shows it; nullopt if nothing came since the last call.
    std::optional<screen::CommandOutput> take_output();
    /// Closes CMD's terminal; processes that still use it get SIGHUP.
    void hang_up();

  private:
    struct State;
    explicit CommandTerminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::terminal
