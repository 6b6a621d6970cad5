// SPDX-License-Identifier: BSD-2-Clause
// rsslag maps: the memory of a process, mapping by mapping.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "commands.h"
#include "core/duration.h"
#include "core/text.h"
#include "documents/maps.h"
#include "exit_status.h"
#include "file_budget.h"
#include "memory/map_reader.h"
#include "memory/map_rows.h"
#include "session/process_maps.h"
#include "session/sampled_recording.h"
#include "system/experiment.h"
#include "system/signals.h"
#include "system/targets.h"
#include "system/walker.h"
#include "terminal/output.h"
#include "terminal/style.h"
#include "version.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;

struct MapsOptions {
    system::TargetArguments targets;
    bool json = false;
    bool pmap_x = false;
    bool pmap_details = false;
    bool all = false;
    bool pages = false;
    bool report = false;
    bool watch = false;
    bool of_mappings = false;  ///< the chosen output needs the mappings
    int repeat = 0;            ///< of --watch; 0: no limit
    std::uint64_t limit = 1ULL << 28;
    std::string filter, elf;
    struct {
        std::string sort, baseline, stacks;
        std::string interval = "1s";
        std::vector<std::string> columns, assertions;
    } typed;
    memory::Order order;
    std::chrono::milliseconds interval{};
    std::vector<core::Assertion> assertions;
    std::optional<std::vector<memory::Baseline>> baselines;
    std::shared_ptr<const memory::SampledRecording> samples;  ///< null without --stacks
    documents::MapsChoices shown;
};

core::Status read_assertions(MapsOptions &options) {
    for (const std::string &argument : options.typed.assertions) {
        auto assertions = memory::parse_assertions(argument);
        if (!assertions) return assertions.error();
        for (core::Assertion &assertion : *assertions) {
            if (assertion.growth && !options.baselines) {
                return Error{Kind::BadInput, fmt::format("'{}' requires --baseline", core::printable(argument)), 0,
                             "add --baseline FILE"};
            }
            options.assertions.push_back(std::move(assertion));
        }
    }
    return core::success();
}

/// Called before the kernel is queried, so that bad input is reported first.
core::Status parse(MapsOptions &options) {
    for (const std::string &argument : options.typed.columns) {
        const auto field = memory::field_named(argument);
        if (!field) return field.error();
        options.shown.columns.push_back(*field);
    }
    const auto order = memory::order_named(options.typed.sort);
    if (!order) return order.error();
    options.order = *order;
    // A group has no address, and no sums except its columns: --columns and --sort imply --each.
    const bool of_each = !options.typed.columns.empty() || options.order.by != memory::Order::By::Default;
    options.shown.each = options.shown.each || of_each;
    options.of_mappings = options.shown.each || options.pmap_x || options.pmap_details || options.pages ||
                          options.report || options.watch || !options.filter.empty() || !options.elf.empty() ||
                          !options.typed.baseline.empty() || !options.typed.assertions.empty() ||
                          !options.typed.stacks.empty();
    if (options.all || options.report) options.shown.groups = static_cast<std::size_t>(-1);
    const auto interval = core::parse_interval(options.typed.interval);
    if (!interval) return interval.error();
    options.interval = *interval;
    if (!options.typed.baseline.empty()) {
        auto baselines = memory::read_baseline_file(options.typed.baseline);
        if (!baselines) return baselines.error();
        options.baselines = *std::move(baselines);
    }
    if (auto read = read_assertions(options); !read) return read;
    if (!options.targets.empty()) return core::success();
    return Error{Kind::BadInput, "no target given", 0, "use a PID, -p, --comm, --cgroup or -u; see rsslag maps --help"};
}

/// A process to read, with --watch repeatedly. Its files are open from its first reading until its last one. So without
/// --watch a few descriptors are enough for any number of processes.
struct Watched {
    system::Target target;
    std::optional<procfs::Process> process{};
    std::optional<std::vector<procfs::MapGroup>> before{};  ///< those of the previous reading
};

/// Groups with their names escaped as in JSON output.
std::vector<procfs::MapGroup> as_printed(std::vector<procfs::MapGroup> groups) {
    for (procfs::MapGroup &group : groups)
        group.name = core::harmless(group.name);
    return groups;
}

documents::ReportFacts report_facts() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    documents::ReportFacts facts;
    facts.version = version_text();
    while (facts.version.ends_with('\n'))
        facts.version.pop_back();
    if (!std::getline(file, facts.huge_pages)) facts.huge_pages = "none";
    return facts;
}

class MapsCommand {
  public:
    MapsCommand(const MapsOptions &options, const documents::TextStyle &style, session::ProcessMaps reader)
        : options_(options),
          style_(style),
          reader_(std::move(reader)),
          requested_(new session::MapsRequest{options.pages, options.limit, options.elf, options.samples}),
          walker_([this] { return requested_->stop = stop_.stop_requested(); }) {}

    int run(const std::vector<system::Target> &targets) {
        for (const system::Target &target : targets)
            watched_.push_back({target});
        for (int round = 0;; ++round) {
            if (!take_reading(round > 0)) break;
            if (!options_.watch || round + 1 == options_.repeat || stop_.wait(options_.interval)) break;
        }
        return status_;
    }

  private:
    /// It is not an error if a process that matches a pattern has ended or cannot be read, or if one that was read
    /// before has ended. But an assertion about a process that cannot be read does not hold.
    void fail_one(const system::Target &target, const Error &error) {
        failed_.push_back(
            {target.pid, core::harmless(error.remedy.empty() ? error.what : error.what + "; " + error.remedy), {}});
        const bool gone = error.kind == Kind::Gone;
        if (!target.named) {
            (gone ? ended_ : unread_).push_back({target.pid, failed_.back().reason});
            if (!gone && !options_.assertions.empty()) status_ = std::max(status_, kDoesNotHold);
            return;
        }
        if (seen_ && gone) return;
        terminal::print_error(failed_.back().reason);
        status_ = std::max(status_, exit_status(error.kind));
    }

    /// Processes that have ended are reported only if no other process was shown.
    void report_unread() {
        const auto ended = std::exchange(ended_, {});
        auto unread = std::exchange(unread_, {});
        if (!seen_ && status_ == kDone && unread.empty()) unread = ended;
        if (unread.empty()) return;
        terminal::print_error(unread_text(unread));
        if (!seen_) status_ = std::max(status_, kNotAllowed);
    }

    /// If the mappings of another user may not be read and the chosen output does not need them: shows
    /// /proc/PID/status, which any user may read, instead.
    bool use_status(const procfs::Process &process, const Error &error) {
        if (error.kind != Kind::Denied || options_.of_mappings) return false;
        auto task = process.memory_task();
        if (!task) return false;
        failed_.push_back({process.pid(), core::harmless(memory::error_text(error)), std::move(task->status)});
        return true;
    }

    core::Result<memory::MappedProcess> read(Watched &watched) {
        if (!watched.process) {
            auto opened = procfs::Process::open(watched.target.pid);
            if (!opened) return opened.error();
            watched.process.emplace(*std::move(opened));
        }
        const procfs::Process &process = *watched.process;
        auto done =
            system::locked(&walker_, process, [reader = reader_.reader(), requested = requested_](const auto &same) {
                return session::read_mappings(*reader, same, *requested);
            });
        if (!done)
            return Error{Kind::Io,
                         fmt::format("the mappings of {} were not read: a signal stopped rsslag", process.pid()), 0,
                         ""};
        core::Result<memory::MappedProcess> &read = *done;
        if (!read) return std::move(read);
        compare(watched, *read);
        memory::keep_matching(*read, options_.filter);
        memory::sort_mappings(read->mappings, options_.order);
        if (read->stacks) memory::find_top_stacks(*read->stacks, read->groups, read->mappings);
        return std::move(read);
    }

    void compare(Watched &watched, memory::MappedProcess &process) {
        const memory::Baseline *baseline = nullptr;
        if (options_.baselines) {
            baseline = memory::baseline_of(*options_.baselines, process.pid, core::printable(process.comm));
            if (baseline != nullptr) process.since = procfs::changes(baseline->groups, as_printed(process.groups));
        } else if (watched.before) {
            process.since = procfs::changes(*watched.before, process.groups);
        }
        for (const core::Assertion &assertion : options_.assertions) {
            process.asserted.push_back(memory::evaluate(assertion, process.sums, baseline));
            if (process.asserted.back().holds != true) status_ = std::max<int>(status_, kDoesNotHold);
        }
        if (options_.watch) watched.before = process.groups;
    }

    /// Reads and shows all processes once. False if another reading cannot show anything.
    bool take_reading(bool again) {
        memory::MapsDocument document = reader_.document();
        std::vector<Watched> left;
        for (Watched &each : watched_) {
            Watched watched = std::move(each);
            auto process = read(watched);
            if (!process) {
                if (!watched.process || !use_status(*watched.process, process.error()))
                    fail_one(watched.target, process.error());
                continue;
            }
            document.processes.push_back(*std::move(process));
            if (options_.watch) left.push_back(std::move(watched));
        }
        watched_ = std::move(left);
        document.failed = std::exchange(failed_, {});
        const bool by_status =
            std::ranges::any_of(document.failed, [](const auto &each) { return each.status.has_value(); });
        if (by_status) document.status_shows = system::experiment().status;
        seen_ = seen_ || by_status || !document.processes.empty();
        report_unread();
        if (const core::Status shown = show(document, again); !shown) {
            status_ = std::max(status_, fail(shown.error()));
            return false;
        }
        complain_of(document);
        return !watched_.empty();
    }

    /// Prints assertions that do not hold last and on stderr, where they are visible if stdout is piped.
    void complain_of(const memory::MapsDocument &document) const {
        for (const memory::MappedProcess &process : document.processes) {
            std::istringstream lines(documents::assertions_text(process, style_, false));
            for (std::string line; std::getline(lines, line);)
                terminal::print_error(line);
        }
    }

    core::Status show(const memory::MapsDocument &document, bool again) const {
        if (options_.json) return terminal::print(documents::maps_json(document, options_.shown));
        std::string text;
        for (const memory::MappedProcess &process : document.processes) {
            const bool apart = !again && !options_.pmap_x && !options_.pmap_details;
            if (!text.empty() && apart) text += '\n';
            text += text_of(document, process, again);
        }
        for (const memory::UnmappedProcess &failed : document.failed) {
            if (!again && failed.status && !text.empty()) text += '\n';
            if (again || failed.status) text += documents::unmapped_text(document, failed, style_);
        }
        return terminal::print(text);
    }

    std::string text_of(const memory::MapsDocument &document, const memory::MappedProcess &process, bool again) const {
        if (options_.pmap_x) return documents::pmap_x_text(process, style_.utf8);
        if (options_.pmap_details) return documents::pmap_details_text(process, style_.utf8);
        if (again)
            return documents::look_text(document, process, style_) + documents::assertions_text(process, style_, true);
        const std::string head = options_.report ? documents::report_head(document, process, report_facts()) : "";
        return head + documents::maps_text(document, process, options_.shown, style_);
    }

    const MapsOptions &options_;
    const documents::TextStyle &style_;
    session::ProcessMaps reader_;
    system::StopSignals stop_;
    std::shared_ptr<session::MapsRequest> requested_;
    system::Walker walker_;
    std::vector<Watched> watched_;
    std::vector<memory::UnmappedProcess> failed_;
    std::vector<core::FailedTarget> unread_;  ///< of this reading, not named by PID: they exist
    std::vector<core::FailedTarget> ended_;   ///< of this reading, not named by PID: they have ended
    bool seen_ = false;
    int status_ = kDone;
};

/// kDone, or the status after the error is printed.
int read_samples(MapsOptions &options, const std::vector<system::Target> &targets) {
    std::set<int> pids;
    for (const system::Target &target : targets)
        pids.insert(target.pid);
    FileBudget budget({options.typed.stacks});
    return budget.run([&] {
        system::StopSignals stop;
        auto samples = session::read_samples(options.typed.stacks, pids, [&](std::uint64_t work) {
            return stop.stop_requested() || budget.spent(work);
        });
        if (!samples) return budget.was_spent() ? kBadInput : fail(samples.error());
        options.samples = *std::move(samples);
        return kDone;
    });
}

int maps(MapsOptions &options, documents::TextStyle style) {
    if (const core::Status read = parse(options); !read) return fail(read.error());
    if (options.report) style.utf8 = style.color = false;
    const auto targets = system::resolve(options.targets);
    if (!targets) return fail(targets.error());
    // Frame numbers, by which a page is recognised that two paths show, need CAP_SYS_ADMIN, the pagemap of other users
    // CAP_DAC_READ_SEARCH.
    const bool pages =
        options.pages || !options.elf.empty() || !options.typed.stacks.empty() ||
        std::ranges::any_of(*targets, [](const system::Target &target) { return memory::may_show_twice(target.pid); });
    auto reader = session::ProcessMaps::open(pages ? std::vector<cap_value_t>{CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH}
                                                   : std::vector<cap_value_t>{});
    if (!reader) return fail(reader.error());
    if (!options.typed.stacks.empty())
        if (const int status = read_samples(options, *targets); status != kDone) return status;
    return MapsCommand(options, style, *std::move(reader)).run(*targets);
}

}  // namespace

Run add_maps(CLI::App &app, const Common &common) {
    auto options = std::make_shared<MapsOptions>();
    CLI::App *const command =
        app.add_subcommand("maps", "Show the memory of a process: top's columns, quadrants, mappings");
    add_target_options(*command, options->targets);
    command->add_flag("--json", options->json, "Print JSON (rsslag.maps/1), one document per line");
    command->add_flag("--each", options->shown.each, "List every mapping instead of groups by name");
    command->add_option("--columns", options->typed.columns, "Fields of smaps to show for each mapping: Rss,Pss,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_option("--sort", options->typed.sort,
                        "List each mapping, sorted by address, name, or a field of smaps (largest first)");
    command->add_option("--filter", options->filter, "Only mappings whose name matches GLOB");
    command->add_flag("--pages", options->pages,
                      "Count pages: exclusive, shared by how many processes, swapped, huge, KSM, zero");
    command->add_option("--elf", options->elf,
                        "Resident parts of a mapped ELF file, by section and symbol; its path or a glob");
    command->add_option("--limit", options->limit, "With --pages: read at most N entries of pagemap")
        ->capture_default_str();
    command->add_flag("--all", options->all, "List every group");
    auto *const stacks = command->add_option("--stacks", options->typed.stacks,
                                             "Show the stack that added most pages of each row, from a recording");
    command->add_flag("--report", options->report, "Print plain text with facts about the machine, for a bug report");
    auto *const watch = command->add_flag("--watch", options->watch, "Read repeatedly, and print what has changed");
    command->add_option("--interval", options->typed.interval, "With --watch: time between readings")
        ->capture_default_str();
    command->add_option("--repeat", options->repeat, "With --watch: end after N readings");
    command
        ->add_option("--baseline", options->typed.baseline, "Print what has changed since FILE, an older --json output")
        ->excludes(watch);
    command
        ->add_option(
            "--assert", options->typed.assertions,
            "Exit with 1 if this condition does not hold: rss<10MiB, or with --baseline private_dirty.growth<=5%")
        ->allow_extra_args(false);
    auto *const x = command->add_flag("-x", options->pmap_x, "Print as pmap -x does")->excludes(stacks);
    command->add_flag("-X", options->pmap_details, "Print as pmap -X does")->excludes(x)->excludes(stacks);
    return [options, &common] {
        if (!common.command.empty())
            return fail({Kind::BadInput, "maps takes no -- CMD", 0, "name the PID of a running process"});
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        return maps(*options, *style);
    };
}

}  // namespace rsslag::cli
