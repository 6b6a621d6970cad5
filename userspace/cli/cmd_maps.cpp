// SPDX-License-Identifier: BSD-2-Clause
// rsslag maps: what the memory of a process is, mapping by mapping.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include "command.h"
#include "commands.h"
#include "exit_status.h"
#include "map_reader.h"
#include "output.h"
#include "page_counter.h"
#include "rsslag/core/text.h"
#include "style.h"
#include "targets.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;

struct Options {
    TargetWords targets;
    bool json = false;
    bool pmap_x = false;
    bool pmap_details = false;
    bool all = false;
    bool pages = false;
    std::uint64_t limit = 1ULL << 28;
    std::string sort;
    std::string filter;
    std::string elf;
    std::vector<std::string> columns;
    view::MapsChoices shown;
};

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

core::Result<const procfs::SmapsLine *> field_named(const std::string &word) {
    for (const procfs::SmapsLine &line : procfs::kSmapsLines) {
        if (same_word(line.key, word)) return &line;
    }
    std::string known;
    for (const procfs::SmapsLine &line : procfs::kSmapsLines)
        known += (known.empty() ? "" : ", ") + std::string(line.key);
    return Error{Kind::BadInput, fmt::format("smaps has no field '{}'", core::printable(word)), 0, "it has " + known};
}

/// How rows are ordered: by a field of smaps, largest first, or by name or address.
struct Order {
    enum class By { Default, Address, Name, Field } by = By::Default;
    const procfs::SmapsLine *field = nullptr;
};

core::Result<Order> order_named(const std::string &word) {
    if (word.empty()) return Order{};
    if (same_word(word, "address")) return Order{Order::By::Address};
    if (same_word(word, "name")) return Order{Order::By::Name};
    const auto field = field_named(word);
    if (!field) {
        return Error{Kind::BadInput, field.error().what + " to sort by", 0,
                     "sort by address, name, or a field: " + field.error().remedy};
    }
    return Order{Order::By::Field, *field};
}

core::Status read_choices(Options &options, Order &order) {
    for (const std::string &word : options.columns) {
        const auto field = field_named(word);
        if (!field) return field.error();
        options.shown.columns.push_back(*field);
    }
    if (!options.columns.empty()) options.shown.each = true;
    if (options.all) options.shown.groups = static_cast<std::size_t>(-1);
    const auto read = order_named(options.sort);
    if (!read) return read.error();
    order = *read;
    // Groups have no address and only the sums that their columns show: a field means each mapping.
    if (order.by != Order::By::Default) options.shown.each = true;
    return core::success();
}

void sort_mappings(std::vector<procfs::Mapping> &mappings, const Order &order) {
    const auto by_field = [&](const procfs::Mapping &a, const procfs::Mapping &b) {
        return procfs::number(a, *order.field).value_or(-1) > procfs::number(b, *order.field).value_or(-1);
    };
    switch (order.by) {
        case Order::By::Default:
        case Order::By::Address: return;  // as smaps has them
        case Order::By::Name:
            std::stable_sort(mappings.begin(), mappings.end(),
                             [](const auto &a, const auto &b) { return a.name < b.name; });
            return;
        case Order::By::Field: std::stable_sort(mappings.begin(), mappings.end(), by_field); return;
    }
}

/// Only rows go: the sums stay those of the whole process.
void keep_matching(view::MappedProcess &process, const std::string &glob) {
    if (glob.empty()) return;
    std::erase_if(process.mappings, [&](const procfs::Mapping &mapping) { return !matches(glob, mapping.name); });
    std::erase_if(process.groups, [&](const procfs::MapGroup &group) { return !matches(glob, group.name); });
}

std::string shown_text(const view::MapsDocument &document, const view::MappedProcess &process, const Options &options,
                       const view::TextStyle &style) {
    if (options.pmap_x) return view::pmap_x_text(process, style.utf8);
    if (options.pmap_details) return view::pmap_details_text(process, style.utf8);
    return view::maps_text(document, process, options.shown, style);
}

core::Status show(const view::MapsDocument &document, const Options &options, const view::TextStyle &style) {
    if (options.json) return print(view::maps_json(document, options.shown));
    std::string text;
    for (const view::MappedProcess &process : document.processes) {
        if (!text.empty() && !options.pmap_x && !options.pmap_details) text += '\n';
        text += shown_text(document, process, options, style);
    }
    return print(text);
}

int maps(Options &options, const view::TextStyle &style) {
    Order order;
    if (const core::Status read = read_choices(options, order); !read) return fail(read.error());
    if (options.targets.empty()) {
        return fail(
            {Kind::BadInput, "maps of what?", 0, "give a PID, -p, --comm, --cgroup or -u; see rsslag maps --help"});
    }
    const auto targets = resolve(options.targets);
    if (!targets) return fail(targets.error());
    // Frame numbers are for SYS_ADMIN, other users' pagemap is their own to read.
    const std::vector<cap_value_t> for_pages{CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH};
    auto reader = MapReader::open(options.pages || !options.elf.empty() ? for_pages : std::vector<cap_value_t>{});
    if (!reader) return fail(reader.error());
    StopSignals stop;
    view::MapsDocument document = reader->document();
    int status = kDone;
    const auto tell = [&](const Target &target, const Error &error) {
        document.failed.push_back(
            {target.pid, core::harmless(error.remedy.empty() ? error.what : error.what + "; " + error.remedy)});
        if (target.named) complain(document.failed.back().reason);
        if (target.named) status = std::max(status, exit_status(error.kind));
    };
    for (const Target &target : *targets) {
        const auto process = procfs::Process::open(target.pid);
        auto read = process ? reader->read(*process) : core::Result<view::MappedProcess>(process.error());
        if (!read) {
            tell(target, read.error());
            continue;
        }
        if (options.pages) {
            auto pages = count_pages(*process, *read, options.limit, stop);
            if (!pages) {
                tell(target, pages.error());
                continue;
            }
            read->pages = *std::move(pages);
        }
        if (!options.elf.empty()) {
            auto elf = look_into_elf(*process, *read, options.elf, stop);
            if (!elf) {
                tell(target, elf.error());
                continue;
            }
            read->elf = *std::move(elf);
        }
        keep_matching(*read, options.filter);
        sort_mappings(read->mappings, order);
        document.processes.push_back(*std::move(read));
    }
    if (document.processes.empty() && status == kDone) {
        for (const view::FailedTarget &failed : document.failed)
            complain(failed.reason);
        status = kNotAllowed;
    }
    if (const core::Status printed = show(document, options, style); !printed) return fail(printed.error());
    return status;
}

}  // namespace

Run add_maps(CLI::App &app, const Common &common) {
    auto options = std::make_shared<Options>();
    CLI::App *const command =
        app.add_subcommand("maps", "What the memory of a process is: top's columns, quadrants, mappings");
    add_target_options(*command, options->targets);
    command->add_flag("--json", options->json, "rsslag.maps/1, one document a line");
    command->add_flag("--each", options->shown.each, "Every mapping, not grouped by name");
    command->add_option("--columns", options->columns, "Fields of smaps to show for each mapping: Rss,Pss,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_option("--sort", options->sort, "Each mapping by address, name, or a field of smaps, largest first");
    command->add_option("--filter", options->filter, "Only mappings whose name matches GLOB");
    command->add_flag("--pages", options->pages,
                      "Page by page: exclusive, shared by how many, swapped, huge, KSM, zero");
    command->add_option("--elf", options->elf,
                        "What of a mapped ELF file is there, by section and symbol: its path or GLOB");
    command->add_option("--limit", options->limit, "Of --pages: read at most N entries of pagemap")
        ->capture_default_str();
    command->add_flag("--all", options->all, "List every group");
    auto *const x = command->add_flag("-x", options->pmap_x, "As pmap -x prints it");
    command->add_flag("-X", options->pmap_details, "As pmap -X prints it")->excludes(x);
    return [options, &common] {
        if (!common.command.empty()) {
            return fail({Kind::BadInput, "maps takes no -- CMD", 0, "give a PID of a process that runs"});
        }
        const auto style = text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        return maps(*options, *style);
    };
}

}  // namespace rsslag::cli
