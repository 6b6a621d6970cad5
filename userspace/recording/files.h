// SPDX-License-Identifier: BSD-2-Clause
// A recording on the disk: one file, or under a limit FILE and the segments before it, FILE.0000, FILE.0001 …
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"
#include "rsslag/recording/writer.h"

namespace rsslag::recording {

/// What a segment is called once it is not the newest any more.
std::string segment_name(const std::string &path, std::uint64_t number);

class Files {
  public:
    /// Kind::BadInput where something is there, also under the name that a segment would get, or nothing can be made.
    static core::Result<Files> create(const std::string &path, const Writer::Options &options);
    /// All of it or nothing; the oldest segments make room for it. 0 or an errno, as the others.
    int write(std::string_view bytes);
    int sync() const;
    /// What was written until now keeps its number, and FILE begins anew. What has come to be in the way is an error
    /// unless Options::force.
    int next();
    /// Nothing is left of FILE.
    void remove() const;

    const std::string &path() const { return path_; }
    /// Bytes in FILE, and in all that is there.
    std::uint64_t written() const { return written_; }
    std::uint64_t kept() const { return kept_ + written_; }

  private:
    /// A file that was made here: what has its name later may be somebody else's.
    struct Made {
        std::uint64_t number = 0;
        std::uint64_t bytes = 0;
        dev_t device = 0;
        ino_t inode = 0;
    };

    Files(std::string path, const Writer::Options &options) : path_(std::move(path)), options_(options) {}
    int make();
    int move_away();
    void make_room(std::uint64_t bytes);

    std::string path_;
    Writer::Options options_;
    core::Fd fd_;
    Made made_;
    std::uint64_t written_ = 0;
    std::uint64_t kept_ = 0;  ///< in older segments
    std::deque<Made> older_;
};

}  // namespace rsslag::recording
