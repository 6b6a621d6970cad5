// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

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
inline constexpr std::size_t kMembers = 4;
inline constexpr std::array<Member, kMembers> kAllMembers{Member::File, Member::Anon, Member::Swap, Member::Shmem};
/// The member with this number; nullopt: a counter that this version does not know.
constexpr std::optional<Member> member_of(unsigned number) {
    return number < kMembers ? std::optional(static_cast<Member>(number)) : std::nullopt;
}
/// The members that make up RSS.
inline constexpr std::array<Member, 3> kRssMembers{Member::File, Member::Anon, Member::Shmem};

/// A number of pages for each member.
struct Members {
    Pages file, anon, swap, shmem;

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

/// RSS as /proc computes it from counters: get_mm_rss() clamps each member at 0 (include/linux/mm.h).
constexpr Pages clamped_rss(const Members &m) {
    Pages sum;
    for (Member member : kRssMembers) {
        if (m[member].n > 0) sum += m[member];
    }
    return sum;
}

/// What a reader of the flushed counters misses: exact rss − clamped_rss(flushed).
constexpr Pages lag(const Members &exact, const Members &flushed) {
    return exact.rss() - clamped_rss(flushed);
}

}  // namespace rsslag::core
