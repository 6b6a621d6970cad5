// SPDX-License-Identifier: BSD-2-Clause
// Recordings of runs in which an earlier rsslag reported wrong nets of threads as certain. Its analysis was wrong, but
// its records are right. The truth is 200 pages of each kind for each thread whose name is "known" and
// a number (tests/bench/known_pages.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../paths.h"
#include "documents/tick.h"
#include "events.h"
#include "recorded.h"

namespace rsslag::analysis {
namespace {

struct Recorded {
    const char *file;
    int threads;
    std::vector<std::string> kinds;  ///< of which each thread holds 200 pages
    std::int64_t uncertain;          ///< of all threads together: exactly what the records allow
};

std::ostream &operator<<(std::ostream &out, const Recorded &run) {
    return out << run.file;
}

bool is_known(const std::string &comm) {
    return comm.size() > 5 && comm.starts_with("known") &&
           std::all_of(comm.begin() + 5, comm.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

class WrongRun : public testing::TestWithParam<Recorded> {};

TEST_P(WrongRun, GivesEachThreadWhatItTouched) {
    const Recorded &run = GetParam();
    const test::Trace trace =
        test::trace_of(*recording::open_file(source_path("tests/unit/analysis/wrong_runs/") + run.file + ".rsslag"));
    AnalyzerOptions options;
    options.threads.which = core::ThreadChoice::Which::All;
    test::TickAnalyzer analyzer(trace.facts, options);
    nlohmann::json last;
    for (const event::Event &event : trace.events) {
        for (const core::Tick &tick : analyzer.apply(event))
            last = nlohmann::json::parse(documents::tick_json(tick));
    }
    int threads = 0;
    std::int64_t uncertain = 0;
    for (const nlohmann::json &thread : last["threads"]) {
        if (!is_known(thread["comm"])) continue;
        ++threads;
        const auto width = thread["uncertain"].get<std::int64_t>();
        uncertain += width;
        std::int64_t sum = 0;
        for (const std::string kind : {"file", "anon", "shmem"}) {
            const std::int64_t truth = std::ranges::count(run.kinds, kind) * 200;
            EXPECT_LE(std::abs(thread["net"][kind].get<std::int64_t>() - truth), width) << thread << kind;
            sum += truth;
        }
        EXPECT_LE(std::abs(thread["net"]["rss"].get<std::int64_t>() - sum), width) << thread;
    }
    EXPECT_EQ(threads, run.threads);
    EXPECT_EQ(uncertain, run.uncertain);
    // Also if the record of an emulated CPU came too late for its reading.
    EXPECT_EQ(last["disagreements"], 0);
}

INSTANTIATE_TEST_SUITE_P(, WrongRun,
                         testing::Values(Recorded{"cpu_counts_2_anon", 2, {"anon"}, 2'040},
                                         Recorded{"cpu_counts_3_mixed", 3, {"file", "anon", "shmem"}, 510},
                                         Recorded{"cpu_events_8_anon_shmem", 8, {"anon", "shmem"}, 2'146},
                                         Recorded{"thread_counts_2_anon_file", 2, {"file", "anon"}, 804},
                                         Recorded{"thread_counts_4_anon", 4, {"anon"}, 965},
                                         Recorded{"thread_events_2_anon_file", 2, {"file", "anon"}, 0},
                                         Recorded{"thread_events_4_anon", 4, {"anon"}, 441}),
                         [](const auto &each) { return std::string(each.param.file); });

}  // namespace
}  // namespace rsslag::analysis
