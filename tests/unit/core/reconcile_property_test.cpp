// SPDX-License-Identifier: BSD-2-Clause
// Properties of every reconciliation, over random readings from a fixed seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "readings.h"

namespace rsslag::core {
namespace {

using test::kPageSize;
using test::members;

class Dice {
  public:
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
    }
    bool once_in(std::int64_t n) { return between(1, n) == 1; }
    Members counts(std::int64_t least, std::int64_t most) {
        return members(between(least, most), between(least, most), between(least, most), between(least, most));
    }

  private:
    std::mt19937_64 random_{4711};
};

CounterReading any_reading(Dice &dice) {
    CounterReading reading = dice.once_in(2) ? test::still() : test::still_on_cpus();
    reading.first.flushed = dice.counts(-20, 3000);
    reading.first.total_vm = static_cast<std::uint64_t>(dice.between(0, 8000));
    for (TaskReading &task : reading.tasks) {
        if (reading.scheme == Scheme::Thread) task.cached = dice.counts(-64, 64);
    }
    for (CpuReading &cpu : reading.first.cpus)
        cpu.cached = dice.counts(-31, 31);
    reading.last = reading.first;
    if (dice.once_in(8)) reading.last.flushed = dice.counts(-20, 3000);
    return reading;
}

void disturb(Dice &dice, CounterReading &reading) {
    switch (dice.between(0, 5)) {
        case 0: reading.first.flushed.anon.n += dice.between(1, 500); break;
        case 1: reading.tasks.front().faults_after += 1; break;
        case 2: reading.tasks.pop_back(); break;
        case 3: reading.last.map_count += 1; break;
        case 4: reading.mm += 64; break;
        default: reading.tasks.back().cached.file.n += 1; break;
    }
}

struct Case {
    Bracket bracket;
    Evidence evidence;
};

Case any_case(Dice &dice) {
    Case made;
    made.bracket.readings = {any_reading(dice)};
    made.bracket.readings.push_back(made.bracket.readings.front());
    if (dice.once_in(3)) disturb(dice, made.bracket.readings.back());
    const Members exact = made.bracket.readings.back().exact();
    const std::int64_t off = dice.once_in(4) ? 0 : dice.between(-2000, 200);
    made.bracket.walk_state = WalkState::Done;
    made.bracket.walk = test::walk_of(exact.rss().n + off);
    if (dice.once_in(2)) {
        made.bracket.walk->anonymous = kPageSize.kb(exact.anon + Pages{dice.once_in(2) ? off : dice.between(-50, 50)});
    }
    made.evidence.in_execve = dice.once_in(2);
    if (dice.once_in(2)) made.evidence.mapped = Pages{dice.between(0, 8000)};
    if (dice.once_in(2)) made.evidence.poisoned = Pages{dice.once_in(3) ? std::abs(off) : dice.between(0, 100)};
    return made;
}

bool moving(const Bracket &bracket) {
    return moved(bracket.readings.front(), bracket.readings.back());
}

Pages blamed_on(const Reconciliation &result, Cause cause) {
    Pages sum;
    for (const ResidualCause &one : result.causes) {
        if (one.cause == cause) sum += one.pages;
    }
    return sum;
}

void check_numbers(const Case &made, const Reconciliation &result) {
    EXPECT_EQ(result.exact, result.flushed + result.cached);
    EXPECT_LE(result.window.min, result.exact.rss());
    EXPECT_GE(result.window.max, result.exact.rss());
    ASSERT_TRUE(result.residual.has_value());
    EXPECT_EQ(test::sum(result.causes), *result.residual);
    EXPECT_TRUE(std::none_of(result.causes.begin(), result.causes.end(),
                             [](const ResidualCause &cause) { return cause.pages.n == 0; }));
    EXPECT_EQ(reconcile(made.bracket, kPageSize).residual, result.residual) << "evidence changed the residual";
}

void check_verdict(const Case &made, const Reconciliation &result) {
    const bool unexplained = blamed_on(result, Cause::Unexplained).n != 0;
    if (moving(made.bracket)) {
        EXPECT_EQ(result.verdict, Verdict::Moving);
        EXPECT_EQ(blamed_on(result, Cause::Moved), *result.residual);
        return;
    }
    EXPECT_EQ(*result.residual, kPageSize.pages(made.bracket.walk->rss) - result.exact.rss());
    EXPECT_EQ(blamed_on(result, Cause::Moved), Pages{0});
    const Verdict expected = result.residual->n == 0 ? Verdict::Agrees
                             : unexplained           ? Verdict::Unexplained
                                                     : Verdict::Explained;
    EXPECT_EQ(result.verdict, expected);
}

void check_causes(const Case &made, const Reconciliation &result) {
    const Pages poison = blamed_on(result, Cause::Hwpoison);
    if (poison.n != 0) {
        EXPECT_EQ(poison, made.evidence.poisoned);
        EXPECT_LE(poison, *result.residual);
    }
    const Pages arguments = blamed_on(result, Cause::ExecArguments);
    if (arguments.n != 0) {
        EXPECT_TRUE(made.evidence.in_execve);
        EXPECT_EQ(result.exact.anon + arguments, kPageSize.pages(*made.bracket.walk->anonymous));
        EXPECT_LT(arguments.n, 0);
        EXPECT_GE(arguments.n, -1537);
    }
    const Pages in_flight = blamed_on(result, Cause::InFlight);
    if (in_flight.n != 0) {
        EXPECT_LT(in_flight.n, 0);
        EXPECT_GE(static_cast<std::int64_t>(made.bracket.readings.back().last.total_vm) - made.evidence.mapped->n,
                  -in_flight.n);
    }
}

TEST(ReconcileAlways, AddsItsCausesUpToTheResidualAndHidesNothing) {
    Dice dice;
    std::array<int, 5> seen{};
    for (int round = 0; round < 50'000 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE(round);
        const Case made = any_case(dice);
        const Reconciliation result = reconcile(made.bracket, kPageSize, made.evidence);
        check_numbers(made, result);
        check_verdict(made, result);
        check_causes(made, result);
        ++seen[static_cast<std::size_t>(result.verdict)];
    }
    for (const Verdict verdict : {Verdict::Agrees, Verdict::Explained, Verdict::Moving, Verdict::Unexplained})
        EXPECT_GT(seen[static_cast<std::size_t>(verdict)], 500) << name(verdict);
}

}  // namespace
}  // namespace rsslag::core
