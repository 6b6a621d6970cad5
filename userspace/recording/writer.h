// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/event.h"
#include "core/result.h"
#include "recording/header.h"
#include "recording/peak_lag.h"

namespace rsslag::recording {

/// The owner of the file.
struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Writes a recording on its own thread. Callers never wait for it: events that do not fit into its queue are dropped
/// and counted, and the recording contains an event::Gap in their place.
class Writer {
  public:
    struct Options {
        bool force = false;  ///< replace an existing regular file
        bool hold = false;   ///< neither create nor replace FILE for good before keep()
        std::optional<Owner> owner;
        /// Create the file as its owner instead of changing its owner afterwards. Needs no capability if the owner is
        /// the saved user id of this process.
        bool as_owner = false;
        std::chrono::milliseconds sync{5000};  ///< between two calls of fdatasync()
        /// The limit for all segments together; the oldest are deleted. The file is the newest segment; earlier ones
        /// are FILE.0000, FILE.0001 … by the numbers in their headers.
        std::optional<std::uint64_t> max_bytes;
    };

    /// Creates the file with mode 0600. Kind::BadInput if it exists or cannot be created.
    static core::Result<Writer> create(const std::string &path, const Options &options);
    /// A recording in memory, which save() may write to a file later. It has no segments.
    static Writer in_memory(Options options);
    /// Ends the recording. Removes the file if begin() was never called, or keep() with Options::hold.
    ~Writer();
    Writer(Writer &&) noexcept;
    Writer &operator=(Writer &&) = delete;

    void begin(Header header);
    /// The file stays. To be called once the trace has started, with Options::hold.
    void keep();
    /// Adds an event. Never waits.
    void put(event::Event event);
    /// Starts the next segment, for all later events. Never waits.
    void next(Header header);
    /// Creates the file of a recording in memory. All that is in memory is written to it, and the rest of the
    /// recording. Errors as create().
    core::Status save(const std::string &path);

    struct Progress {
        std::uint64_t records = 0;       ///< written; includes deleted segments
        std::uint64_t bytes = 0;         ///< in all existing files, or in memory
        std::uint64_t records_lost = 0;  ///< records and events dropped since the queue was full
        std::uint64_t events_lost = 0;
        bool full = false;                  ///< the segment is large enough, so that the caller should call next()
        bool ended = false;                 ///< finish() has nothing to wait for
        std::optional<core::Error> failed;  ///< the first error; nothing is written after it
    };
    Progress progress() const;

    /// Starts to end the recording without waiting. finish() must still be called.
    void end();
    /// Waits until all events and the end are written. Returns the first error of the whole recording, Kind::Io.
    core::Status finish(const std::optional<PeakLag> &peak = std::nullopt);

  private:
    struct State;
    explicit Writer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::recording
