// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rsslag/core/event.h"
#include "rsslag/core/result.h"
#include "rsslag/recording/header.h"
#include "rsslag/recording/peak.h"

namespace rsslag::recording {

/// Whose the file shall be.
struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Writes a recording on a thread of its own. Nobody ever waits for it: what it cannot take is counted, and the
/// recording says so itself.
class Writer {
  public:
    struct Options {
        bool force = false;  ///< replaces a regular file that is there
        std::optional<Owner> owner;
        /// Made by its owner, not given to them: what needs no capability, where the owner is a saved id of this
        /// process.
        bool as_owner = false;
        std::chrono::milliseconds sync{5000};  ///< between two fdatasync()
        /// What is kept at most: segments, of which the oldest go. The file is the newest, those before it are called
        /// FILE.0000, FILE.0001 …, as their headers number them.
        std::optional<std::uint64_t> max_bytes;
    };

    /// Makes the file, 0600. Kind::BadInput where something is there or nothing can be made.
    static core::Result<Writer> create(const std::string &path, const Options &options);
    /// The file ends here. One that never began is taken away again.
    ~Writer();
    Writer(Writer &&) noexcept;
    Writer &operator=(Writer &&) = delete;

    void begin(Header header);
    /// Never waits.
    void put(event::Event event);
    /// What is put from now on goes into the next segment. Never waits.
    void next(Header header);

    struct Progress {
        std::uint64_t records = 0;       ///< in deleted segments, too
        std::uint64_t bytes = 0;         ///< in all files that are there
        std::uint64_t records_lost = 0;  ///< that found no room in the queue, events likewise
        std::uint64_t events_lost = 0;
        bool full = false;                  ///< it is time for next()
        bool ended = false;                 ///< finish() has nothing to wait for
        std::optional<core::Error> failed;  ///< nothing is written any more
    };
    Progress progress() const;

    /// As finish(), which still is to be called, but never waits.
    void end();
    /// All that was put is written, and that it ended. What went wrong, also before.
    core::Status finish(const std::optional<Peak> &peak = std::nullopt);

  private:
    struct State;
    explicit Writer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
