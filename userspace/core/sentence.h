// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/reconcile.h"
#include "core/scheme.h"

namespace rsslag::core {

/// The input of the first sentence of a snapshot.
struct Finding {
    int pid = 0;
    std::optional<Pages> stat;  ///< field 24 of /proc/PID/stat
    Members flushed;
    Members cached;
    bool leader_gone = false;  ///< the main thread has ended, so stat shows no memory
    Pages exact_rss;
    std::size_t cachers = 0;  ///< threads or CPUs whose cached file, anon or shmem is not 0
    Bound bound;
    Verdict verdict = Verdict::Unwalked;
};

/// The exact rss minus that of stat, which was read at another moment; nullopt if stat could not be read.
std::optional<Pages> behind(const Finding &finding);

/// Formats a number of pages with its unit: "79,964 kB".
using PagesText = std::string (*)(Pages pages, const PageSize &page_size);
std::string as_kb(Pages pages, const PageSize &page_size);
std::string as_mib(Pages pages, const PageSize &page_size);
std::string as_gib(Pages pages, const PageSize &page_size);
std::string as_pages(Pages pages, const PageSize &page_size);

/// One sentence for users: what /proc/PID/stat shows, what the process holds, and where the rest is cached. It also
/// names the programs that show the same as stat: ps reads status, top and htop read statm, and `calibration` shows
/// whether these are exact.
std::string sentence(const Finding &finding, const Machine &machine, const Calibration &calibration, PagesText text);

}  // namespace rsslag::core
