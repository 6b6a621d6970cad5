// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"
#include "exporters/sink.h"

namespace rsslag::exporters {

/// Passes text on in pieces of about kFullBuffer, so that a document needs no memory for the whole of it. After an
/// error of `write` it drops what follows.
class Pieces {
  public:
    explicit Pieces(const Write &write) : write_(write) {}

    void put(std::string_view text) {
        text_ += text;
        if (text_.size() >= kFullBuffer) pass_on();
    }
    /// Puts the texts of all elements, with commas between them.
    template <class List, class Text>
    void put_list(const List &list, const Text &text) {
        bool first = true;
        for (const auto &each : list) {
            if (!std::exchange(first, false)) put(",");
            put(text(each));
        }
    }
    /// Passes the rest on. Returns the first error of `write`.
    core::Status end() {
        pass_on();
        return status_;
    }

  private:
    void pass_on() {
        if (status_ && !text_.empty()) status_ = write_(text_);
        text_.clear();
    }

    const Write &write_;
    std::string text_;
    core::Status status_ = core::success();
};

}  // namespace rsslag::exporters
