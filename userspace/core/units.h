// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rsslag::core {

// Numbers from a file can be arbitrary. Overflow wraps around as for unsigned numbers, which is defined behaviour and
// keeps parts consistent with their sum.
constexpr std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapped_difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// A number of base pages (getconf PAGESIZE). Signed, since counters can be negative for a moment.
struct Pages {
    std::int64_t n = 0;

    friend constexpr auto operator<=>(Pages, Pages) = default;
    friend constexpr Pages operator+(Pages a, Pages b) { return {wrapped_sum(a.n, b.n)}; }
    friend constexpr Pages operator-(Pages a, Pages b) { return {wrapped_difference(a.n, b.n)}; }
    friend constexpr Pages operator-(Pages a) { return {wrapped_difference(0, a.n)}; }
    constexpr Pages &operator+=(Pages other) { return *this = *this + other; }
};

/// Far more pages than an mm can hold: a record or reading with a larger counter is malformed.
inline constexpr std::int64_t kMostPagesOfMm = std::int64_t{1} << 36;

/// A number of units of 1,024 bytes, as the kB of /proc.
struct Kilobytes {
    std::int64_t n = 0;

    friend constexpr auto operator<=>(Kilobytes, Kilobytes) = default;
    friend constexpr Kilobytes operator+(Kilobytes a, Kilobytes b) { return {wrapped_sum(a.n, b.n)}; }
    friend constexpr Kilobytes operator-(Kilobytes a, Kilobytes b) { return {wrapped_difference(a.n, b.n)}; }
    constexpr Kilobytes &operator+=(Kilobytes other) { return *this = *this + other; }
};

/// Bytes in a base page; converts between Pages and Kilobytes.
struct PageSize {
    std::int64_t bytes = 4096;

    constexpr Kilobytes kb(Pages p) const { return {wrapped_product(p.n, bytes / 1024)}; }
    /// Exact, since /proc prints whole pages only.
    constexpr Pages pages(Kilobytes kb) const { return {kb.n / (bytes / 1024)}; }
};

/// The members of mm->rss_stat, with the kernel's numbers (include/linux/mm_types_task.h).
enum class Member : std::uint8_t { File = 0, Anon = 1, Swap = 2, Shmem = 3 };

struct MemberFacts {
    std::string_view name;         ///< in every output
    bool in_rss;                   ///< RSS includes it, clamped at 0
    std::string_view status_line;  ///< of /proc/PID/status
};
/// By number.
inline constexpr std::array kMemberFacts{
    MemberFacts{"file", true, "RssFile"},
    MemberFacts{"anon", true, "RssAnon"},
    MemberFacts{"swap", false, "VmSwap"},
    MemberFacts{"shmem", true, "RssShmem"},
};
inline constexpr std::size_t kMembers = kMemberFacts.size();

constexpr const MemberFacts &facts_of(Member member) {
    return kMemberFacts[static_cast<std::size_t>(member)];
}
constexpr bool in_rss(Member member) {
    return facts_of(member).in_rss;
}
/// The member with this number; nullopt: a counter that this version does not know.
constexpr std::optional<Member> member_of(unsigned number) {
    return number < kMembers ? std::optional(static_cast<Member>(number)) : std::nullopt;
}

/// By number.
inline constexpr auto kAllMembers = [] {
    std::array<Member, kMembers> all{};
    for (std::size_t i = 0; i < kMembers; ++i)
        all[i] = static_cast<Member>(i);
    return all;
}();
/// The order in JSON and CSV: first the members of RSS.
inline constexpr auto kMembersInOrder = [] {
    auto all = kAllMembers;
    std::size_t filled = 0;
    for (const bool of_rss : {true, false})
        for (const Member member : kAllMembers)
            if (in_rss(member) == of_rss) all[filled++] = member;
    return all;
}();
/// The members that make up RSS.
inline constexpr auto kRssMembers =
    std::span(kMembersInOrder).first<std::count_if(kAllMembers.begin(), kAllMembers.end(), in_rss)>();

/// The order in text, and of the lines of /proc/PID/status.
inline constexpr std::array kMembersInText{Member::Anon, Member::File, Member::Shmem, Member::Swap};
inline constexpr auto kRssMembersInText = std::span(kMembersInText).first<kRssMembers.size()>();
/// The members that RSS does not include.
inline constexpr auto kOtherMembersInText = std::span(kMembersInText).subspan<kRssMembers.size()>();
static_assert(kMembersInText.size() == kMembers && std::ranges::all_of(kRssMembersInText, in_rss));

/// A number of pages for each member.
struct Members {
    Pages file, anon, swap, shmem;

    /// The same number for each member.
    static constexpr Members of_each(Pages pages) {
        Members all;
        for (const Member member : kAllMembers)
            all[member] = pages;
        return all;
    }
    constexpr Pages &operator[](Member m) {
        switch (m) {
            case Member::File: return file;
            case Member::Anon: return anon;
            case Member::Swap: return swap;
            case Member::Shmem: break;
        }
        return shmem;
    }
    constexpr Pages operator[](Member m) const { return const_cast<Members &>(*this)[m]; }
    /// file + anon + shmem; may be negative.
    constexpr Pages rss() const { return file + anon + shmem; }

    friend constexpr bool operator==(const Members &, const Members &) = default;
    friend constexpr Members operator+(Members a, const Members &b) { return a += b; }
    friend constexpr Members operator-(const Members &a, const Members &b) {
        return {a.file - b.file, a.anon - b.anon, a.swap - b.swap, a.shmem - b.shmem};
    }
    constexpr Members &operator+=(const Members &o) {
        file += o.file;
        anon += o.anon;
        swap += o.swap;
        shmem += o.shmem;
        return *this;
    }
};
// The functions of Members name each member.
static_assert(std::ranges::all_of(kAllMembers, [](Member member) {
    Members one;
    one[member] = {1};
    return one - Members{} == one && (one + one)[member].n == 2 && one.rss().n == (in_rss(member) ? 1 : 0);
}));

/// RSS as /proc computes it from counters: get_mm_rss() clamps each member at 0 (include/linux/mm.h).
constexpr Pages clamped_rss(const Members &m) {
    Pages sum;
    for (Member member : kRssMembers) {
        if (m[member].n > 0) sum += m[member];
    }
    return sum;
}

/// Whether any part of RSS is in these cached counters.
constexpr bool caches_rss(const Members &cached) {
    return std::ranges::any_of(kRssMembers, [&](Member member) { return cached[member].n != 0; });
}

/// What a reader of the flushed counters misses: exact rss − clamped_rss(flushed).
constexpr Pages lag(const Members &exact, const Members &flushed) {
    return exact.rss() - clamped_rss(flushed);
}

}  // namespace rsslag::core
