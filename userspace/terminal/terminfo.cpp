// SPDX-License-Identifier: BSD-2-Clause
#include "terminfo.h"

#include <curses.h>
#include <term.h>

namespace rsslag::terminal {

bool can_be_drawn_on(const char *name, int fd) {
    int err = 0;
    if (setupterm(name, fd, &err) != OK) return false;
    const bool positions = cursor_address != nullptr && !generic_type;
    del_curterm(cur_term);
    return positions;
}

std::string restoring() {
    std::string text;
    for (const char *const name : {"sgr0", "op", "rmkx", "rmcup", "cnorm"}) {
        const char *const value = tigetstr(name);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): tigetstr() returns the pointer -1 for an unknown capability
        if (value != nullptr && value != reinterpret_cast<const char *>(-1)) text += value;
    }
    return text;
}

}  // namespace rsslag::terminal
