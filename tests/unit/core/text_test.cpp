// SPDX-License-Identifier: BSD-2-Clause
#include "core/text.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <limits>
#include <random>
#include <string>

#include "core/extreme_text.h"

namespace rsslag::core {
namespace {

using namespace std::string_literals;

TEST(UtcTime, HasTheEarliestAndTheLatestTimeThatCanBeHeld) {
    using Time = std::chrono::system_clock::time_point;
    EXPECT_EQ(utc_time(Time(Time::duration::min())), "1677-09-21T00:12:43.145Z");
    EXPECT_EQ(utc_time(Time(Time::duration::max())), "2262-04-11T23:47:16.854Z");
    EXPECT_EQ(utc_time(Time(std::chrono::milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

TEST(PeakRangeText, ShowsAsMuchAsIsKnown) {
    const auto amount = [](Pages pages) { return with_thousands(pages.n); };
    Extremes extremes;
    extremes.most.from = extremes.most.to = {1'000};
    EXPECT_EQ(at_most_text(extremes, amount), "at most 1,000");
    extremes.most.to = {9'000};
    extremes.most.members[Member::Anon] = {1'004};
    EXPECT_EQ(at_most_text(extremes, amount), "at most 1,000 to 9,000");
    extremes.open = true;
    EXPECT_EQ(at_most_text(extremes, amount), "at most ~1,004");
    extremes.most.members[Member::Anon] = {50};
    EXPECT_EQ(at_most_text(extremes, amount), "at most ~1,000") << "within its bounds";
    extremes.lossy = true;
    EXPECT_EQ(at_most_text(extremes, amount), "at least 1,000");
}

TEST(WithThousands, GroupsDigitsByThree) {
    EXPECT_EQ(with_thousands(0), "0");
    EXPECT_EQ(with_thousands(7), "7");
    EXPECT_EQ(with_thousands(999), "999");
    EXPECT_EQ(with_thousands(1000), "1,000");
    EXPECT_EQ(with_thousands(79964), "79,964");
    EXPECT_EQ(with_thousands(104252), "104,252");
    EXPECT_EQ(with_thousands(1234567), "1,234,567");
}

TEST(WithThousands, PutsNoCommaBehindAMinus) {
    EXPECT_EQ(with_thousands(-1), "-1");
    EXPECT_EQ(with_thousands(-123), "-123");
    EXPECT_EQ(with_thousands(-1234), "-1,234");
    EXPECT_EQ(with_thousands(-123456), "-123,456");
}

TEST(WithThousands, GoesToTheEndsOfItsRange) {
    EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::max()), "9,223,372,036,854,775,807");
    EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Printable, LeavesPlainAndWideTextAsItIs) {
    EXPECT_EQ(printable(""), "");
    EXPECT_EQ(printable("kworker/u8:2 (x) [y]"), "kworker/u8:2 (x) [y]");
    EXPECT_EQ(printable("Gänsefüßchen"), "Gänsefüßchen");
    EXPECT_EQ(printable("漢字"), "漢字");
    EXPECT_EQ(printable("🦀"), "🦀");
}

TEST(Printable, EscapesControlBytes) {
    EXPECT_EQ(printable("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
    EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
    EXPECT_EQ(printable("nul\0in it"s), "nul\\x00in it");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
    for (int c = 0; c < 0x20; ++c) {
        const std::string raw(1, static_cast<char>(c));
        EXPECT_EQ(printable(raw).size(), 4U) << c;
    }
}

TEST(Printable, EscapesTheSecondSetOfControls) {
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\xc2\\x9b31m");
    EXPECT_EQ(printable("\xc2\x80\xc2\x9f\xc2\xa0"), "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
}

TEST(Printable, DoublesABackslashSoThatNothingPosesAsAnEscape) {
    EXPECT_EQ(printable("\\"), "\\\\");
    EXPECT_EQ(printable("\\x1b"), "\\\\x1b");
}

TEST(Printable, EscapesWhatTurnsOrHidesText) {
    EXPECT_EQ(printable("\u202Eexe.txt"), "\\xe2\\x80\\xaeexe.txt");
    for (const char *hidden : {"\u061C", "\u200B", "\u200E", "\u200F", "\u202A", "\u202B",     "\u202C",
                               "\u202D", "\u202E", "\u2066", "\u2067", "\u2068", "\u2069",     "\u00AD",
                               "\u2028", "\u2029", "\u2060", "\uFEFF", "\uFE0F", "\U000E0041", "\U00100000"}) {
        EXPECT_EQ(printable(hidden).substr(0, 2), "\\x") << printable(hidden);
    }
}

TEST(Printable, EscapesBytesThatAreNoUtf8) {
    EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
    EXPECT_EQ(printable("a\x80z"), "a\\x80z");
    EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
    EXPECT_EQ(printable("\xe9qq"), "\\xe9qq");
    EXPECT_EQ(printable("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
}

TEST(Printable, EscapesACutSequenceAndKeepsWhatFollows) {
    EXPECT_EQ(printable("\xe6\xbc"), "\\xe6\\xbc");
    EXPECT_EQ(printable("\xe6\xbc"
                        "a"),
              "\\xe6\\xbc"
              "a");
    EXPECT_EQ(printable("\xf0\x9f\xa6"), "\\xf0\\x9f\\xa6");
    EXPECT_EQ(printable("\xc3ü"), "\\xc3ü");
}

TEST(Printable, ReadsNoFurtherThanItsView) {
    const std::string_view whole = "\xe6\xbc\xa2\xf0\x9f\xa6\x80";
    EXPECT_EQ(printable(whole.substr(0, 2)), "\\xe6\\xbc");
    EXPECT_EQ(printable(whole.substr(0, 6)), "\xe6\xbc\xa2\\xf0\\x9f\\xa6");
}

TEST(Printable, EscapesOverlongForms) {
    EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");
    EXPECT_EQ(printable("\xc1\xbf"), "\\xc1\\xbf");
    EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
    EXPECT_EQ(printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
    EXPECT_EQ(printable("\xf0\x80\x80\x9b"), "\\xf0\\x80\\x80\\x9b");
    EXPECT_EQ(printable("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
}

TEST(Printable, EscapesSurrogatesAndWhatLiesBeyondUnicode) {
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    EXPECT_EQ(printable("\xed\xbf\xbf"), "\\xed\\xbf\\xbf");
    EXPECT_EQ(printable("\xed\x9f\xbf"), "\xed\x9f\xbf");
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, IsAsciiWhereTheLocaleIs) {
    EXPECT_EQ(printable("漢", false), "\\xe6\\xbc\\xa2");
    EXPECT_EQ(printable("aü\\\n", false), "a\\xc3\\xbc\\\\\\x0a");
    EXPECT_EQ(printable("plain", false), "plain");
}

/// The well-formed sequences as RFC 3629 section 4 lists them: first byte, and the range of the second.
struct Form {
    int lead_from, lead_to, second_from, second_to, length;
};
constexpr std::array<Form, 9> kForms{{{0x00, 0x7F, 0, 0, 1},
                                      {0xC2, 0xDF, 0x80, 0xBF, 2},
                                      {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                      {0xE1, 0xEC, 0x80, 0xBF, 3},
                                      {0xED, 0xED, 0x80, 0x9F, 3},
                                      {0xEE, 0xEF, 0x80, 0xBF, 3},
                                      {0xF0, 0xF0, 0x90, 0xBF, 4},
                                      {0xF1, 0xF3, 0x80, 0xBF, 4},
                                      {0xF4, 0xF4, 0x80, 0x8F, 4}}};

/// Length of the well-formed sequence at `at`, 0 if there is none.
std::size_t sequence_at(const std::string &text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<int>(static_cast<unsigned char>(text[i])); };
    for (const Form &form : kForms) {
        if (byte(at) < form.lead_from || byte(at) > form.lead_to) continue;
        const auto length = static_cast<std::size_t>(form.length);
        if (at + length > text.size()) return 0;
        if (length > 1 && (byte(at + 1) < form.second_from || byte(at + 1) > form.second_to)) return 0;
        for (std::size_t i = 2; i < length; ++i) {
            if (byte(at + i) < 0x80 || byte(at + i) > 0xBF) return 0;
        }
        return length;
    }
    return 0;
}

std::string random_text(std::mt19937_64 &random) {
    const auto below = [&random](std::uint64_t n) { return random() % n; };
    std::string raw;
    for (std::uint64_t left = below(24); left > 0; --left) {
        switch (below(4)) {
            case 0: raw += static_cast<char>(below(256)); break;
            case 1: raw += static_cast<char>(below(0x80)); break;
            case 2: {  // a lead byte and as many continuations as it requires, well-formed or not
                const auto lead = 0xC0 + below(0x38);
                raw += static_cast<char>(lead);
                for (std::uint64_t i = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3; i > 0; --i)
                    raw += static_cast<char>(0x80 + below(0x40));
                break;
            }
            default: raw += below(2) == 0 ? "\xe2\x80\xae" : "\xe2\x81\xa6"; break;
        }
    }
    return raw;
}

/// The inverse of printable().
std::string unescaped(const std::string &text) {
    std::string raw;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            raw += text[i];
        } else if (text[i + 1] == '\\') {
            raw += text[++i];
        } else {
            raw += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
            i += 3;
        }
    }
    return raw;
}

TEST(Printable, NeverLetsAControlByteOrBadUtf8ThroughAndLosesNothing) {
    std::mt19937_64 random(20240607);
    for (int round = 0; round < 20'000; ++round) {
        const std::string raw = random_text(random);
        const std::string safe = printable(raw);
        for (std::size_t at = 0; at < safe.size();) {
            const std::size_t length = sequence_at(safe, at);
            ASSERT_NE(length, 0U) << "not UTF-8 in round " << round << ": " << testing::PrintToString(raw);
            const std::string_view one(safe.data() + at, length);
            ASSERT_FALSE(length == 1 && (static_cast<unsigned char>(one[0]) < 0x20 || one[0] == 0x7F)) << round;
            ASSERT_FALSE(length == 2 && one[0] == '\xc2' && static_cast<unsigned char>(one[1]) < 0xA0) << round;
            ASSERT_NE(one, "\xe2\x80\xae") << round;
            ASSERT_NE(one, "\xe2\x81\xa6") << round;
            at += length;
        }
        ASSERT_EQ(unescaped(safe), raw) << round;
        const std::string ascii = printable(raw, false);
        for (const char c : ascii)
            ASSERT_TRUE(c >= 0x20 && c < 0x7F) << round;
        ASSERT_EQ(unescaped(ascii), raw) << round;
    }
}

}  // namespace
}  // namespace rsslag::core
