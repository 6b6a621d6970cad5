// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <string_view>

#include "rsslag/core/units.h"

namespace rsslag::core {

/// The name of a member in every output.
constexpr std::string_view name(Member member) {
    switch (member) {
        case Member::File: return "file";
        case Member::Anon: return "anon";
        case Member::Swap: return "swap";
        case Member::Shmem: break;
    }
    return "shmem";
}

/// The order of members in every output.
inline constexpr std::array<Member, kMembers> kMembersInOrder{Member::File, Member::Anon, Member::Shmem, Member::Swap};

}  // namespace rsslag::core
