// SPDX-License-Identifier: BSD-2-Clause
#include "system/signals.h"

#include <gtest/gtest.h>

#include <csignal>

#include "signal_mask.h"

namespace rsslag::system {
namespace {

TEST(StopSignals, AreNotThereUntilOneComes) {
    const test::SignalMask mask;
    StopSignals stop;
    EXPECT_FALSE(stop.stop_requested());
    raise(SIGHUP);
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_TRUE(stop.stop_requested()) << "a stop stays requested";
}

TEST(StopSignals, LetTheFirstInterruptBeTheCommandsWhereThereIsOne) {
    const test::SignalMask mask;
    StopSignals stop(2);
    raise(SIGINT);
    EXPECT_FALSE(stop.stop_requested());
    EXPECT_TRUE(stop.interrupted());
    EXPECT_FALSE(stop.interrupted()) << "an interrupt is reported once";
    raise(SIGINT);
    EXPECT_TRUE(stop.stop_requested());
}

TEST(StopSignals, StopAtOnceOnTermWhateverInterruptsAreLeft) {
    const test::SignalMask mask;
    StopSignals stop(2);
    raise(SIGTERM);
    EXPECT_TRUE(stop.wait(std::chrono::milliseconds{-1}));
    EXPECT_FALSE(stop.interrupted());
}

}  // namespace
}  // namespace rsslag::system
