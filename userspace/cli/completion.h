// SPDX-License-Identifier: BSD-2-Clause
// What a shell offers for the word at its cursor, as told by the tree of options itself.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace rsslag::cli {

struct Candidate {
    std::string text;   ///< the whole word; where it ends in one of "=:<," more of it is to come
    std::string about;  ///< one line, may be empty
};

struct Offer {
    /// What the shell completes by itself, beside `candidates`.
    enum class Also { Nothing, Files, Directories, Users, Groups, Command };

    Also also = Also::Nothing;
    std::vector<Candidate> candidates;  ///< all begin with what was typed
};

/// `arguments` is what was typed after the program's name, up to the cursor: the last one, which may be empty, is to be
/// completed. Looks at /proc where a process is to be named.
Offer offer(const CLI::App &app, const std::vector<std::string> &arguments);

/// As the scripts of the shells read it: first a line with what else (`none`, `files`, `directories`, `users`,
/// `groups`, `command`), then a line a candidate, with a tab before what it is about.
std::string offer_text(const Offer &offer);

}  // namespace rsslag::cli
