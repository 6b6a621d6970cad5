// SPDX-License-Identifier: BSD-2-Clause
// The live screen's state, as ticks and keys change it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "core/member_name.h"
#include "documents/text_parts.h"
#include "key_row.h"
#include "list_keys.h"
#include "live_state.h"

namespace rsslag::screen {
namespace {

constexpr std::size_t kSamples = 8192;
constexpr std::size_t kFlushes = 512;
constexpr std::size_t kExecs = 64;
constexpr std::size_t kManyTasks = 1000;

void remember(std::vector<PastValue> &past, std::uint64_t t_ns, const core::Members &members, std::size_t most) {
    if (!past.empty() && past.back().members == members) return;
    if (past.size() >= most) past.erase(past.begin(), past.begin() + static_cast<std::ptrdiff_t>(most / 4 + 1));
    past.push_back({t_ns, members});
}

/// Removes ended tasks once they outnumber the living ones.
void forget_ended(Process &process) {
    const auto &tasks = process.tick.ledger.tasks;
    if (process.tasks.size() <= 2 * tasks.size() + 64) return;
    std::unordered_set<int> living;
    for (const core::TaskNet &task : tasks)
        living.insert(task.host_tid);
    std::erase_if(process.tasks, [&living](const auto &entry) { return living.count(entry.first) == 0; });
}

std::uint64_t total(const Tick &tick) {
    return tick.ledger.updates + tick.ledger.updates_by_others + tick.faults;
}

void append(std::deque<core::CourseSpan> &course, std::vector<core::CourseSpan> more) {
    course.insert(course.end(), more.begin(), more.end());
    while (course.size() > kSamples)
        course.pop_front();
}

void take_course(Process &process, Tick &tick) {
    if (tick.recent) append(process.course, std::exchange(tick.recent->course, {}));
}

/// `most`: the number of samples to keep.
void take_history(Process &process, std::size_t most) {
    const Tick &tick = process.tick;
    Sample sample{tick.t_ns, tick.ledger.flushed, tick.ledger.cached, std::nullopt,
                  core::mark(tick, core::figures_of(tick))};
    if (tick.process.walk && !tick.stale_walk && tick.read)
        sample.walked = tick.page_size.pages(tick.process.walk->rss);
    process.history.push_back(sample);
    while (process.history.size() > most)
        process.history.pop_front();
    const std::size_t past = tick.ledger.tasks.size() > kManyTasks ? 32 : 512;
    for (const core::TaskNet &task : tick.ledger.tasks)
        remember(process.tasks[task.host_tid], tick.t_ns, task.cached.value_or(task.net), past);
    for (const core::CpuNet &cpu : tick.ledger.cpus)
        remember(process.cpus[cpu.cpu], tick.t_ns, cpu.cached, 512);
    forget_ended(process);
}

/// "60 s", "5 min".
std::string span_text(std::chrono::milliseconds span) {
    const auto seconds = std::chrono::round<std::chrono::seconds>(span).count();
    return seconds > 60 && seconds % 60 == 0 ? fmt::format("{} min", seconds / 60) : fmt::format("{} s", seconds);
}

}  // namespace

core::Pages shown(const core::Members &members, ShownMember member) {
    return member ? members[*member] : members.rss();
}

std::string_view name(ShownMember member) {
    return member ? core::name(*member) : "rss";
}

bool cpus_cache(const Tick &tick) {
    return core::cpus_cache(tick.scheme);
}

LiveScreen::LiveScreen(ScreenFacts facts, TextStyle style) : state_(std::make_unique<LiveState>()) {
    state_->history = History(facts.playback ? 0 : facts.history_ns, facts.history_bytes);
    state_->facts = std::move(facts);
    state_->style = std::move(style);
}
LiveScreen::~LiveScreen() = default;
LiveScreen::LiveScreen(LiveScreen &&) noexcept = default;
LiveScreen &LiveScreen::operator=(LiveScreen &&) noexcept = default;

void EndedPeaks::add(const Tick &tick) {
    const documents::Bounds peak = documents::bounds_of(tick.extremes);
    sum.from += peak.from;
    sum.to += peak.to;
    sum.most += peak.most;
    sum.lossy = sum.lossy || peak.lossy;
    // One lower bound makes the highest of all a lower bound.
    const bool lossy = highest.lossy || peak.lossy;
    if (name.empty() || peak.shown() > highest.shown()) {
        highest = peak;
        name = fmt::format("{} [{}]", tick.process.comm, tick.process.pid);
    }
    highest.lossy = lossy;
}

/// At the limit, removes the ended process with the earliest last tick, except the one shown.
void LiveState::forget_ended() {
    constexpr std::size_t kMost = 500;
    if (all.processes.size() < kMost) return;
    auto first = all.processes.end();
    for (auto each = all.processes.begin(); each != all.processes.end(); ++each) {
        if (!each->second.ended || each->first == pid) continue;
        if (first == all.processes.end() || each->second.tick.t_ns < first->second.tick.t_ns) first = each;
    }
    if (first == all.processes.end()) return;
    ++all.left_out;
    all.left_out_peaks.add(first->second.tick);
    all.processes.erase(first);
}

/// Takes the figures that are the same for all processes. The sums of a moment are complete when a tick of the next
/// moment comes.
void LiveState::take_latest(const Tick &tick) {
    constexpr double kNsPerS = 1e9;
    Latest &latest = all.latest;
    if (tick.seq != latest.seq && !all.processes.empty()) {
        for (auto &[number, process] : all.processes)
            if (!process.rests && !process.ended && process.seq != latest.seq) rest_figures(process, latest.t_ns);
        all.sums.push_back(sums_of(all));
        if (all.sums.size() > kSamples) all.sums.pop_front();
    }
    if (tick.t_ns > latest.t_ns) {
        const std::uint64_t events = tick.emitted - std::min(latest.emitted, tick.emitted);
        latest.events_per_s =
            latest.t_ns == 0 ? 0 : static_cast<double>(events) * kNsPerS / static_cast<double>(tick.t_ns - latest.t_ns);
        latest.t_ns = tick.t_ns;
        latest.time = tick.time;
        latest.own = tick.own;
    }
    latest.seq = tick.seq;
    latest.page_size = tick.page_size;
    latest.scheme = tick.scheme;
    latest.lost = std::max(latest.lost, tick.lost);
    latest.emitted = std::max(latest.emitted, tick.emitted);
    if (!tick.all) return;
    latest.all = tick.all;
    latest.processes = tick.all_processes;
}

void LiveScreen::take(Tick tick, std::string user, std::string cgroup) {
    state_->history.add(tick, user, cgroup);
    state_->take(std::move(tick), std::move(user), std::move(cgroup));
}

void LiveState::take(Tick tick, std::string user, std::string cgroup) {
    take_latest(tick);
    auto &processes = all.processes;
    const int ticked = tick.process.pid;
    append(all.course, std::exchange(tick.course_of_all, {}));
    const auto known = processes.find(ticked);
    if (processes.empty() || ticked == shown_before) pid = ticked;
    const bool ends = tick.state != core::State::Running;
    if (known != processes.end()) known->second.seq = tick.seq;
    // An ended program is replaced by a later one of the process, even if that had no tick while it ran.
    const bool another = known != processes.end() &&
                         (known->second.ended || known->second.tick.ledger.generation != tick.ledger.generation);
    if ((ends || !tick.read) && known != processes.end() && !(ends && another)) {
        // Keep the values of the last reading; only update the counts of records and the extremes.
        Process &process = known->second;
        if (ends)
            process.ended = tick.state;
        else
            take_course(process, tick);
        process.tick.extremes = tick.extremes;
        process.tick.lost = tick.lost;
        process.tick.lost_by = std::move(tick.lost_by);
        process.tick.emitted = tick.emitted;
        process.tick.needs_resync = tick.needs_resync;
        process.events_per_s = 0;
        return;
    }
    if (known == processes.end()) forget_ended();
    Process &process = processes[ticked];
    process.seq = tick.seq;
    const bool first = known == processes.end();
    const std::uint64_t events = first ? tick.emitted : process.tick.emitted;
    const std::uint64_t began = first ? tick.t_ns : process.tick.t_ns;
    if (first || total(tick) != total(process.tick)) process.last_change_ns = tick.t_ns;
    process.ended = tick.state == core::State::Running ? std::nullopt : std::optional(tick.state);
    const Tick before = std::exchange(process.tick, std::move(tick));
    if (process.tick.t_ns > began) {
        process.events_per_s = static_cast<double>(process.tick.emitted - std::min(events, process.tick.emitted)) *
                               1e9 / static_cast<double>(process.tick.t_ns - began);
    }
    take_course(process, process.tick);
    if (!first && before.ledger.generation != process.tick.ledger.generation) {
        process.execs.push_back(process.tick.t_ns);
        if (process.execs.size() > kExecs) process.execs.pop_front();
    }
    for (LoggedFlush &flush : process.tick.last_flushes)
        process.flushes.push_back(std::move(flush));
    process.tick.last_flushes.clear();
    while (process.flushes.size() > kFlushes)
        process.flushes.pop_front();
    if (!cgroup.empty()) process.cgroup = std::move(cgroup);
    process.user = user.empty() ? std::to_string(process.tick.process.uid) : std::move(user);
    if (!process.ended) take_history(process, samples());
    process.figures = list_figures(process, first ? nullptr : &before);
    process.rests = false;
}

void LiveScreen::take(CommandOutput output) {
    state_->command = std::move(output);
    state_->has_command = true;
}

void LiveScreen::take(const Playback &playback) {
    state_->facts.playback = playback;
}

void LiveScreen::take(std::shared_ptr<const profile::Profile> profile, std::uint64_t from_ns) {
    Stacks &stacks = state_->stacks;
    stacks.latest = std::move(profile);
    stacks.from_ns = from_ns;
    if (state_->frozen) return;
    stacks.profile = stacks.latest;
    state_->list_stacks();
}

void LiveScreen::rewind() {
    state_->shown_before = state_->pid;
    state_->all = {};
    state_->history.clear();
    state_->return_to_now();
}

void LiveScreen::type_to_command(bool on) {
    state_->typing = on;
}

void LiveScreen::record(bool on) {
    state_->recording = on;
}

bool LiveScreen::command_runs() const {
    return state_->has_command && state_->command.running;
}

std::uint64_t LiveScreen::lost() const {
    return state_->all.latest.lost;
}

int LiveScreen::shown() const {
    return state_->lists() ? 0 : state_->pid;
}

void LiveScreen::notify(std::string notice) {
    state_->notice = std::move(notice);
}

const Process *LiveState::shown_process() const {
    if (frozen && !past) return &*frozen;
    const std::map<int, Process> &processes = past ? past->processes : all.processes;
    const auto found = processes.find(pid);
    return found == processes.end() ? nullptr : &found->second;
}

bool LiveState::lists() const {
    return listed.value_or(all.processes.size() > 1);
}

/// The number of samples to keep of each process, so that all of them take a bounded amount of memory.
std::size_t LiveState::samples() const {
    constexpr std::size_t kOfAll = 400'000;
    constexpr std::size_t kLeast = 64;  // more than kGrowthNs at one tick a second
    return std::clamp(kOfAll / std::max<std::size_t>(all.processes.size(), 1), kLeast, kSamples);
}

Table LiveState::shown_table() const {
    const Process *const process = shown_process();
    if (table) return *table;
    return process != nullptr && cpus_cache(process->tick) ? Table::Cpus : Table::Threads;
}

void LiveState::move(std::int64_t by) {
    const Process *const process = shown_process();
    if (process == nullptr) return;
    const Listing listing = list(*this, *process, SIZE_MAX);
    if (listing.entries.empty()) return;
    const auto last = static_cast<std::int64_t>(listing.entries.size()) - 1;
    const std::int64_t to = std::clamp(static_cast<std::int64_t>(listing.selected) + by, std::int64_t{0}, last);
    selected = listing.entries[static_cast<std::size_t>(to)].id;
}

bool LiveState::move_to_match(const Key &key) {
    const Process *const process = shown_process();
    if (process == nullptr) return false;
    const Listing listing = list(*this, *process, SIZE_MAX);
    const auto by = match_move_of(key, listing.selected, listing.entries.size());
    if (!by) return false;
    if (filter.empty())
        notice = kNoFilter;
    else
        move(*by);
    return true;
}

void LiveState::next_sort() {
    const Process *const process = shown_process();
    if (process == nullptr) return;
    const std::vector<Sort> sorts = sorts_of(*process, shown_table());
    const auto now = std::find(sorts.begin(), sorts.end(), effective_sort(*this, *process));
    Sort &chosen = shown_table() == Table::Cpus ? sort_cpus : sort_threads;
    chosen = now == sorts.end() || now + 1 == sorts.end() ? sorts.front() : *(now + 1);
    notice = fmt::format("sorted by {}", heading(chosen, cpus_cache(process->tick)));
}

void LiveState::sort_by(std::string_view column) {
    constexpr std::array<std::pair<std::string_view, Sort>, 9> kSorts{{{"CACHED", Sort::Cached},
                                                                       {"NET", Sort::Net},
                                                                       {"FAULTS", Sort::Faults},
                                                                       {"FLUSHES", Sort::Flushes},
                                                                       {"FOLDS", Sort::Flushes},
                                                                       {"LAST", Sort::Recent},
                                                                       {"TID", Sort::Id},
                                                                       {"CPU", Sort::Id},
                                                                       {"COMM", Sort::Name}}};
    const Process *const process = shown_process();
    const auto *const found =
        std::find_if(kSorts.begin(), kSorts.end(), [&](const auto &each) { return each.first == column; });
    if (process == nullptr || found == kSorts.end()) return;
    const std::vector<Sort> sorts = sorts_of(*process, shown_table());
    if (std::find(sorts.begin(), sorts.end(), found->second) == sorts.end()) return;
    (shown_table() == Table::Cpus ? sort_cpus : sort_threads) = found->second;
    notice = fmt::format("sorted by {}", heading(found->second, cpus_cache(process->tick)));
}

bool LiveState::select(std::size_t rank) {
    const Process *const process = shown_process();
    if (process == nullptr) return false;
    const Listing listing = list(*this, *process, SIZE_MAX);
    if (rank >= listing.entries.size()) return false;
    return std::exchange(selected, listing.entries[rank].id) == listing.entries[rank].id;
}

void LiveState::open(int process) {
    pid = process;
    shown_before = 0;
    listed = false;
    frozen.reset();
    frozen_all.reset();
    selected.reset();
    one = growth = stacks.shown = false;
}

void LiveState::next_process() {
    if (all.processes.size() < 2) {
        notice = "only one process is traced";
        return;
    }
    auto next = all.processes.upper_bound(pid);
    if (next == all.processes.end()) next = all.processes.begin();
    open(next->first);
}

std::optional<Intent> LiveState::character(char32_t key) {
    const Process *const process = shown_process();
    switch (key) {
        case U'q':
            if (has_command && command.running && !asked_to_quit) {
                asked_to_quit = true;
                notice =
                    "the command is still running: q again quits (the command gets SIGHUP), any other key continues";
                return std::nullopt;
            }
            return Quit{};
        case U's': next_sort(); break;
        case U'/':
            filtering = true;
            if (stacks.shown) break;
            if (shown_table() == Table::Cpus) selected.reset();  // CPUs have no names
            table = Table::Threads;
            one = growth = false;
            break;
        case U't': table = Table::Threads, selected.reset(), one = growth = stacks.shown = false; break;
        case U'c':
            if (process != nullptr && !cpus_cache(process->tick)) {
                notice = "on this kernel threads cache updates, not CPUs";
                break;
            }
            table = Table::Cpus, selected.reset(), one = growth = stacks.shown = false;
            break;
        case U'm': {
            const auto *const now = std::find(kShownMembers.begin(), kShownMembers.end(), member);
            member = now + 1 == kShownMembers.end() ? kShownMembers.front() : *(now + 1);
            notice = fmt::format("chart and table show {}", name(member));
            break;
        }
        case U' ':
            if (past) {
                return_to_now();
            } else if (frozen) {
                frozen.reset();
                stacks.profile = stacks.latest;
            } else if (process != nullptr) {
                frozen = *process;
            }
            break;
        case U'+':
        case U'-': facts.interval = stepped(facts.interval, key == U'+'); return SetInterval{facts.interval};
        case U'w':
            if (!facts.walks) {
                notice = "smaps is never read with --no-walk";
                break;
            }
            return WalkNow{pid};
        case U'r':
            if (facts.below) {
                notice = fmt::format("cannot record from here: use rsslag live {}", pid);
                break;
            }
            if (recording || facts.kept.count() == 0) return Record{pid};
            asks_from_when = true;
            notice = fmt::format("record: r from now on, l also the last {}, Esc not at all", span_text(facts.kept));
            break;
        case U'g': growth = !growth || stacks.shown, one = stacks.shown = false; break;
        case U'x': stacks.shown = !stacks.shown, growth = false; break;
        case U'?': help = !help; break;
        case U'o': output = !output; break;
        case U'y': return Copy{};
        case U'i':
            if (has_command && command.running) return TypeToCommand{};
            notice = has_command ? "the command has ended" : "there is no command to type to";
            break;
        default: break;
    }
    return std::nullopt;
}

namespace {

/// Whether a key chooses what is shown of a process. From then on the list does not replace it by itself, once there is
/// more than one process.
bool chooses(const Key &key) {
    constexpr std::u32string_view kOfAll = U"q?+-rioy";
    return key.name != Key::Name::Character || kOfAll.find(key.character) == std::u32string_view::npos;
}

}  // namespace

std::optional<Intent> LiveScreen::key(const Key &pressed) {
    LiveState &state = *state_;
    state.notice.clear();
    const bool lists = state.lists();
    if (state.filtering) {
        const bool of_stacks = !lists && state.stacks.shown;
        std::string &filter = lists ? state.choices.filter : of_stacks ? state.stacks.filter : state.filter;
        if (edit_filter(filter, pressed)) state.filtering = false;
        if (of_stacks)
            state.list_stacks();
        else
            (lists ? state.choices.selected : state.selected).reset();
        return std::nullopt;
    }
    const Key key = known_key(pressed);
    if (std::exchange(state.asks_from_when, false)) {
        if (key.character == U'r' || key.character == U'l') return Record{state.pid, key.character == U'l'};
        if (key.name == Key::Name::Escape) return std::nullopt;
    }
    if (!(key.name == Key::Name::Character && key.character == U'q')) state.asked_to_quit = false;
    if (const ReplayKey handled = replay_key(state, key); handled.taken) return handled.intent;
    if (state.cursor_key(key)) return std::nullopt;
    if (lists) return list_key(state, key);
    if (chooses(key)) state.listed = false;
    if (state.stacks.shown && state.stacks_key(key)) return state.list_stacks(), std::nullopt;
    if (const auto by = move_of(key)) {
        state.move(*by);
        return std::nullopt;
    }
    if (state.move_to_match(key)) return std::nullopt;
    switch (key.name) {
        case Key::Name::Character: {
            std::optional<Intent> intent = state.character(key.character);
            state.list_stacks();
            return intent;
        }
        case Key::Name::Tab: state.next_process(); break;
        case Key::Name::Enter:
            state.move(0);  // keep the first entry selected if there was no selection
            state.one = state.selected.has_value();
            state.growth = false;
            break;
        case Key::Name::Escape:
            if (state.help || state.one || state.growth) {
                state.help = state.one = state.growth = false;
            } else if (!state.filter.empty()) {
                state.filter.clear();
            } else if (state.facts.below) {
                return Back{};
            } else if (state.all.processes.size() > 1) {
                state.listed = true;
                state.frozen.reset();
            }
            break;
        default: break;
    }
    return std::nullopt;
}

std::optional<Intent> LiveScreen::click(const Click &click) {
    LiveState &state = *state_;
    if (click.what == Click::What::Key) return key(key_of(click));
    if (click.what == Click::What::Time) return Play{Play::What::SeekTo, click.part};
    state.notice.clear();
    state.filtering = false;
    if (state.lists()) return list_click(state, click);
    state.listed = false;
    if (state.stacks.shown) {
        if (click.what == Click::What::Heading)
            state.sort_stacks_by(click.heading);
        else
            state.stacks.selected = click.rank;
        state.list_stacks();
    } else if (click.what == Click::What::Heading) {
        state.sort_by(click.heading);
    } else if (state.select(click.rank)) {
        return key({Key::Name::Enter});
    }
    return std::nullopt;
}

}  // namespace rsslag::screen
