// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/reconcile.h"
#include "rsslag/core/scheme.h"

namespace rsslag::core {

/// What the first sentence of a snapshot is made of.
struct Finding {
    int pid = 0;
    std::optional<Pages> stat;  ///< what /proc/PID/stat field 24 said
    Members flushed;
    Members cached;
    bool leader_gone = false;  ///< the main thread has ended, so that stat sees no memory
    Pages exact_rss;
    std::size_t cachers = 0;  ///< threads or CPUs whose cached file, anon or shmem is not 0
    Bound bound;
    Verdict verdict = Verdict::Unwalked;
};

/// exact − stat, which was read at another moment; nullopt where stat could not be read.
std::optional<Pages> behind(const Finding &finding);

/// Prints a number of pages, unit included: "79,964 kB".
using PagesText = std::string (*)(Pages pages, const PageSize &page_size);
std::string as_kb(Pages pages, const PageSize &page_size);
std::string as_mib(Pages pages, const PageSize &page_size);
std::string as_gib(Pages pages, const PageSize &page_size);
std::string as_pages(Pages pages, const PageSize &page_size);

/// Who says what, what is true, where the rest sits: one sentence. A program is named only as the calibration shows
/// its file to lie or not: ps reads status, top and htop read statm.
std::string sentence(const Finding &finding, const Machine &machine, const Calibration &calibration, PagesText text);

}  // namespace rsslag::core
