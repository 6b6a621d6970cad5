// SPDX-License-Identifier: BSD-2-Clause
// workload NAME --hold [OPTIONS]: as `rsslag demo NAME --hold`, with all workloads. workload --list lists them.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "core/duration.h"
#include "workload/hold.h"
#include "workloads.h"

namespace rsslag::workload::test {
namespace {

/// Prints the error and returns the exit status, which is that of rsslag.
int fail(const core::Error &error) {
    const std::string remedy = error.remedy.empty() ? "" : "; " + error.remedy;
    std::fprintf(stderr, "workload: %s%s\n", error.what.c_str(), remedy.c_str());
    switch (error.kind) {
        case core::Kind::BadInput:
        case core::Kind::Corrupt: return 2;
        case core::Kind::Denied:
        case core::Kind::Unsupported:
        case core::Kind::Gone: return 3;
        case core::Kind::Io:
        case core::Kind::Internal: break;
    }
    return 1;
}

int run(int argc, char **argv) {
    std::string name, over;
    bool list = false, held = false;
    Options options;
    HoldOptions how;
    CLI::App app("Holds a workload until a signal comes");
    app.add_option("NAME", name);
    app.add_flag("--list", list);
    app.add_flag("--hold", held);
    app.add_option("--threads", options.threads);
    app.add_option("--kb", options.kb);
    app.add_option("--over", over);
    app.add_option("--parent", how.parent);
    CLI11_PARSE(app, argc, argv);
    if (list) {
        for (const Workload &each : all())
            std::printf("%-20s %s\n", std::string(each.name).c_str(), std::string(each.summary).c_str());
        return 0;
    }
    const Workload *const workload = find(name);
    if (workload == nullptr || !held)
        return fail({core::Kind::BadInput, "no such workload", 0, "use --list, NAME --hold"});
    if (!over.empty()) {
        const auto time = core::parse_duration(over);
        if (!time) return fail(time.error());
        options.over = *time;
    }
    const core::Status done = hold(*workload, options, how);
    return done ? 0 : fail(done.error());
}

}  // namespace
}  // namespace rsslag::workload::test

int main(int argc, char **argv) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL);
    return rsslag::workload::test::run(argc, argv);
}
