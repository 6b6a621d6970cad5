// SPDX-License-Identifier: BSD-2-Clause
// A recording on disk: one file FILE. With a size limit there are also older segments FILE.0000, FILE.0001 …
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/fd.h"
#include "core/result.h"
#include "recording/writer.h"

namespace rsslag::recording {

/// The name of a segment that is no longer the newest.
std::string segment_name(const std::string &path, std::uint64_t number);

class Files {
  public:
    /// Creates FILE; with Options::force the first write() replaces FILE, with Options::hold keep() does.
    /// Kind::BadInput: a file with this name, or with the name of a segment, exists, or FILE cannot be created.
    static core::Result<Files> create(const std::string &path, const Writer::Options &options);
    /// Writes all of `bytes` or nothing, and deletes the oldest segments if necessary. write(), sync(), end()
    /// and next() return 0 or an errno.
    int write(std::string_view bytes);
    int sync() const;
    /// Replaces FILE, if it is to be replaced and has not been. Returns 0 or an errno.
    int keep();
    /// Syncs and closes FILE.
    int end();
    /// After end(): renames FILE to its segment name and creates FILE again. An existing file of that name is an error
    /// unless Options::force.
    int next();
    /// Deletes FILE, or what would have replaced it.
    void remove() const;

    const std::string &path() const { return path_; }
    /// Bytes in FILE.
    std::uint64_t written() const { return written_; }
    /// Bytes in FILE and all segments that still exist.
    std::uint64_t kept() const { return kept_ + written_; }

  private:
    /// Identifies a file that this object has created, since another process may replace it by a file of its own.
    struct Made {
        std::uint64_t number = 0;
        std::uint64_t bytes = 0;
        dev_t device = 0;
        ino_t inode = 0;
    };

    Files(std::string path, const Writer::Options &options) : path_(std::move(path)), options_(options) {}
    int make(bool replace);
    int take_place();
    int move_away();
    void make_room(std::uint64_t bytes);

    std::string path_;
    std::string temporary_;  ///< the name of the file until it replaces FILE; empty: it is FILE
    Writer::Options options_;
    bool held_ = options_.hold;  ///< until keep()
    core::Fd fd_;
    Made made_;
    std::uint64_t written_ = 0;
    std::uint64_t kept_ = 0;  ///< in older segments
    std::deque<Made> older_;
};

}  // namespace rsslag::recording
