// SPDX-License-Identifier: BSD-2-Clause
// Shell completion of the word at the cursor, derived from the parser's own options.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace rsslag::cli {

struct Candidate {
    std::string text;   ///< the whole word; no blank follows it if it ends in one of "=:<,"
    std::string about;  ///< its description, one line; may be empty
};

struct Offer {
    /// The kind of words that the shell itself completes in addition to `candidates`.
    enum class Also { Nothing, Files, Directories, Users, Groups, Command };

    Also also = Also::Nothing;
    std::vector<Candidate> candidates;  ///< each starts with the word before the cursor
};

/// Candidates for the last of `arguments`, the words after the program's name up to the cursor; the last one may be
/// empty. Reads /proc if the word may be the name of a process.
Offer offer(const CLI::App &app, const std::vector<std::string> &arguments);

/// The text that the shells' scripts read: a line with `also` (`none`, `files`, `directories`, `users`, `groups`,
/// `command`), then one line per candidate, with a tab before its description.
std::string offer_text(const Offer &offer);

}  // namespace rsslag::cli
