// SPDX-License-Identifier: BSD-2-Clause
#include "completion.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "memory/baseline.h"
#include "procfs/process.h"
#include "procfs/smaps_lines.h"
#include "report/report.h"
#include "system/targets.h"
#include "workload/workload.h"

namespace rsslag::cli {
namespace {

using Candidates = std::vector<Candidate>;

/// The parts of "a,b" or "a, b".
std::vector<std::string> parts(std::string_view list) {
    std::vector<std::string> found;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        found.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
        list.remove_prefix(std::min(list.find_first_not_of(' '), list.size()));
    }
    return found;
}

Candidates plain(const std::vector<std::string> &texts) {
    Candidates candidates;
    for (const std::string &text : texts)
        candidates.push_back({text, ""});
    return candidates;
}

/// Processes that have memory, by number, with their names.
Candidates processes() {
    Candidates candidates;
    const auto pids = procfs::list_processes();
    if (!pids) return candidates;
    for (const pid_t pid : *pids) {
        const auto process = procfs::Process::open(pid);
        if (!process) continue;
        const auto stat = process->leader_stat();
        if (!stat || !procfs::has_memory(*process, *stat)) continue;
        candidates.push_back({std::to_string(pid), core::printable(stat->comm)});
    }
    return candidates;
}

/// Without empty names, and those with escaped characters, which cannot be typed as shown.
Candidates typeable(std::vector<std::string> texts) {
    std::erase_if(texts, [](const std::string &text) { return text.empty() || core::printable(text) != text; });
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    return plain(texts);
}

/// The names that --comm matches.
Candidates comms() {
    std::vector<std::string> texts;
    for (Candidate &process : processes())
        texts.push_back(std::move(process.about));
    return typeable(std::move(texts));
}

Candidates workloads() {
    Candidates candidates;
    for (const workload::Workload &each : workload::all())
        candidates.push_back({std::string(each.name), std::string(each.summary)});
    return candidates;
}

Candidates fields(bool to_sort_by) {
    Candidates candidates;
    if (to_sort_by) candidates = {{"address", ""}, {"name", ""}};
    for (const procfs::SmapsLine &line : procfs::kSmapsLines)
        candidates.push_back({std::string(line.key), ""});
    return candidates;
}

Candidates commands(const CLI::App &app) {
    Candidates candidates;
    for (const CLI::App *const command : app.get_subcommands({})) {
        if (!command->get_group().empty()) candidates.push_back({command->get_name(), command->get_description()});
    }
    return candidates;
}

/// Keeps the candidates that start with `typed`, and prefixes each with `before`, the part of the word in front of it.
void keep(Offer &offer, std::string_view before, std::string_view typed) {
    std::erase_if(offer.candidates, [&](const Candidate &word) { return !word.text.starts_with(typed); });
    for (Candidate &word : offer.candidates)
        word.text.insert(0, before);
}

/// The names between the braces of "TEXT:{lines,csv,jsonl}"; "top:N" without its N.
std::optional<Candidates> listed(std::string_view type) {
    const std::size_t open = type.find('{');
    if (open == std::string_view::npos) return std::nullopt;
    const std::string_view list = type.substr(open + 1, type.find('}', open) - open - 1);
    Candidates candidates = plain(parts(list));
    for (Candidate &word : candidates) {
        if (word.text.ends_with(":N")) word.text.pop_back();
    }
    return candidates;
}

/// Candidates for the value of an option, or for a positional, by the name of the value.
Offer values(const CLI::App &app, const CLI::App &command, const CLI::Option &option) {
    using Also = Offer::Also;
    const bool named = option.nonpositional();
    const std::string type = named ? option.get_type_name() : option.get_name();
    if (auto candidates = listed(type)) return {Also::Nothing, std::move(*candidates)};
    if (type == "FILE") return {Also::Files, {}};
    if (type == "DIR") return {Also::Directories, {}};
    if (type == "USER") return {Also::Users, {}};
    if (type == "GROUP") return {Also::Groups, {}};
    if (type == "PID") return {Also::Nothing, processes()};
    if (type == "COMMAND") return {Also::Nothing, commands(app)};
    if (type == "NAME") return {Also::Nothing, named ? comms() : workloads()};
    if (type == "SHELL") return {Also::Nothing, plain({"bash", "fish", "zsh"})};
    if (type == "FIELD") return {Also::Nothing, fields(option.check_name("--sort"))};
    if (type == "CONDITION") {
        const bool of_maps = command.get_name() == "maps";
        return {Also::Nothing, plain(parts(of_maps ? memory::sum_names() : report::claim_names()))};
    }
    return {};
}

bool takes_list(const CLI::Option &option) {
    return option.check_name("--pid") || option.check_name("--columns");
}

bool before(const Candidate &a, const Candidate &b) {
    return a.text < b.text;
}

bool same(const Candidate &a, const Candidate &b) {
    return a.text == b.text;
}

void offer_options(const CLI::App &app, Offer &offer) {
    for (const CLI::Option *const option : app.get_options()) {
        if (option->get_group().empty()) continue;
        for (const std::string &name : option->get_lnames())
            offer.candidates.push_back({"--" + name, option->get_description()});
        for (const std::string &name : option->get_snames())
            offer.candidates.push_back({"-" + name, option->get_description()});
    }
}

/// Interprets the words before the cursor, then completes the word at it.
class Line {
  public:
    explicit Line(const CLI::App &app) : app_(app) {}

    void read(const std::string &word) {
        if (value_of_ != nullptr) {
            value_of_ = nullptr;
        } else if (command_line_ || word == "--") {
            command_line_ = true;
        } else if (word.starts_with('-') && word != "-") {
            const CLI::Option *const option = find(word);
            const bool holds_value = word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
            if (option != nullptr && option->get_items_expected_max() > 0 && !holds_value) value_of_ = option;
        } else if (const CLI::App *const command = subcommand(word); chosen_ == nullptr && command != nullptr) {
            chosen_ = command;
        } else {
            ++positionals_;
        }
    }

    Offer complete(const std::string &word) const {
        if (command_line_) return {Offer::Also::Command, {}};
        if (value_of_ != nullptr) return value(*value_of_, "", word);
        if (const std::size_t sign = word.find('='); word.starts_with("--") && sign != std::string::npos) {
            const CLI::Option *const option = find(word);
            return option == nullptr ? Offer{} : value(*option, word.substr(0, sign + 1), word.substr(sign + 1));
        }
        Offer offer = word.starts_with('-') ? options() : positional(word);
        keep(offer, "", word);
        return offer;
    }

  private:
    const CLI::App *subcommand(const std::string &word) const {
        for (const CLI::App *const command : app_.get_subcommands({})) {
            if (command->get_name() == word) return command;
        }
        return nullptr;
    }

    /// rsslag PID and rsslag -- CMD are live.
    const CLI::App &command() const { return chosen_ != nullptr ? *chosen_ : *app_.get_subcommand("live"); }

    const CLI::Option *find(const std::string &word) const {
        const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
        const CLI::Option *const own = command().get_option_no_throw(name);
        return own != nullptr ? own : app_.get_option_no_throw(name);
    }

    Offer options() const {
        Offer offer;
        offer_options(command(), offer);
        offer_options(app_, offer);
        // Both the app and the command have --help.
        std::stable_sort(offer.candidates.begin(), offer.candidates.end(), before);
        offer.candidates.erase(std::unique(offer.candidates.begin(), offer.candidates.end(), same),
                               offer.candidates.end());
        return offer;
    }

    Offer positional(const std::string &word) const {
        Offer offer;
        std::size_t passed = 0;
        for (const CLI::Option *const option : command().get_options()) {
            if (option->nonpositional() || option->get_group().empty()) continue;
            // The last positional may take any number of arguments.
            if (passed + static_cast<std::size_t>(option->get_items_expected_max()) > positionals_) {
                offer = values(app_, command(), *option);
                // A process may be named, too. Without a first letter, the list would be too long.
                if (option->get_name() == "PID" && system::may_be_name(word))
                    std::ranges::move(typeable(system::process_names()), std::back_inserter(offer.candidates));
                break;
            }
            passed += static_cast<std::size_t>(option->get_items_expected_max());
        }
        if (chosen_ == nullptr && positionals_ == 0) {
            Candidates all = commands(app_);
            std::move(offer.candidates.begin(), offer.candidates.end(), std::back_inserter(all));
            offer.candidates = std::move(all);
        }
        return offer;
    }

    /// `before`: the option and its '=' if they are in the same word, else empty.
    Offer value(const CLI::Option &option, const std::string &before, const std::string &word) const {
        const std::size_t comma = takes_list(option) ? word.rfind(',') : std::string::npos;
        const std::size_t begin = comma == std::string::npos ? 0 : comma + 1;
        Offer offer = values(app_, command(), option);
        keep(offer, before + word.substr(0, begin), std::string_view(word).substr(begin));
        return offer;
    }

    const CLI::App &app_;
    const CLI::App *chosen_ = nullptr;
    const CLI::Option *value_of_ = nullptr;  ///< the next word is its value
    std::size_t positionals_ = 0;
    bool command_line_ = false;  ///< after `--`
};

}  // namespace

Offer offer(const CLI::App &app, const std::vector<std::string> &arguments) {
    Line line(app);
    if (arguments.empty()) return line.complete("");
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
        line.read(arguments[i]);
    return line.complete(arguments.back());
}

std::string offer_text(const Offer &offer) {
    constexpr std::array<std::string_view, 6> kAlso{"none", "files", "directories", "users", "groups", "command"};
    std::string text(kAlso.at(static_cast<std::size_t>(offer.also)));
    text += '\n';
    for (const Candidate &word : offer.candidates)
        text += word.text + (word.about.empty() ? "" : "\t" + word.about) + '\n';
    return text;
}

}  // namespace rsslag::cli
