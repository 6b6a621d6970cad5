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

std::string restoring(bool mouse) {
    const auto has = [](const char *value) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): tigetstr() returns the pointer -1 for an unknown capability
        return value != nullptr && value != reinterpret_cast<const char *>(-1);
    };
    std::string text;
    // What ncurses writes to end the reports of clicks (lib_mouse.c).
    if (mouse && has(tigetstr("kmous"))) text += "\x1b[?1006;1000l";
    for (const char *const name : {"sgr0", "op", "rmkx", "rmcup", "cnorm"})
        if (const char *const value = tigetstr(name); has(value)) text += value;
    return text;
}

}  // namespace rsslag::terminal
