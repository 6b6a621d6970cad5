// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string_view>

#include "procfs/smaps_lines.h"

namespace rsslag::procfs {

/// Finds a line of kSmapsLines by its key. All mappings have the same lines in the same order, so a search starts after
/// the previous result and mostly needs one comparison. Ten thousand mappings have a quarter of a million lines.
class SmapsLineFinder {
  public:
    /// nullptr for a key that is not in kSmapsLines.
    const SmapsLine *find(std::string_view key) {
        for (std::size_t tried = 0; tried < kSmapsLines.size(); ++tried) {
            const SmapsLine &line = kSmapsLines[next_];
            if (++next_ == kSmapsLines.size()) next_ = 0;
            if (line.key == key) return &line;
        }
        return nullptr;
    }

  private:
    std::size_t next_ = 0;
};

}  // namespace rsslag::procfs
