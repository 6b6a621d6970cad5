// SPDX-License-Identifier: BSD-2-Clause
#include "system/unreadable.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "core/text.h"

namespace rsslag::system {

using core::Kind;

namespace {

std::string with_remedy(const core::Error &why) {
    return why.remedy.empty() ? why.what : why.what + "; " + why.remedy;
}

}  // namespace

void Unreadable::note(int pid, const std::string &comm, const core::Error &why) {
    constexpr std::size_t kNamed = 20;
    if (why.kind == Kind::Gone || why.kind == Kind::Unsupported || !pids_.insert(pid).second) return;
    if (pids_.size() > kNamed) return;
    spdlog::warn("{}{} is not shown while it cannot be read: {}", pid,
                 comm.empty() ? "" : fmt::format(" ({})", core::printable(comm)), with_remedy(why));
    if (pids_.size() == kNamed) spdlog::warn("further processes that cannot be read are only counted, at the end");
}

void Unreadable::note_search(const core::Error &why) {
    if (why.kind != Kind::Io || std::exchange(searches_failed_, true)) return;
    spdlog::warn("processes that match may be missing: {}", with_remedy(why));
}

}  // namespace rsslag::system
