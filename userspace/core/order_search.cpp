// SPDX-License-Identifier: BSD-2-Clause
#include "order_search.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

namespace rsslag::core {
namespace {

constexpr std::size_t kMostNodes = 40'000;
constexpr std::size_t kMostSums = 8'000'000;  // of nodes and tasks: 128 MB
constexpr std::size_t kMostLanes = 64;

}  // namespace

OrderSearch::OrderSearch(std::span<const CounterEvent> events, std::int64_t count, CountRead read)
    : events_(events), read_(read), task_of_(events.size()), follows_(events.size()), lane_of_(events.size()) {
    std::unordered_map<int, std::size_t> lane_of;
    std::unordered_map<int, int> number_of;
    std::unordered_map<std::uint64_t, std::size_t> by_number;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const CounterEvent &each = events[i];
        const auto [lane, new_lane] = lane_of.try_emplace(each.cpu, lanes_.size());
        if (new_lane) lanes_.emplace_back();
        std::vector<Step> &steps = lanes_[lane->second].steps;
        if (read == CountRead::AtOnce) {
            steps.push_back({i, true, true});
        } else {
            if (each.update) steps.push_back({i, true, false});
            steps.push_back({i, false, true});
        }
        lane_of_[i] = {static_cast<std::uint32_t>(lane->second), static_cast<std::uint16_t>(steps.size())};
        abandoned_ |= steps.size() >= std::numeric_limits<std::uint16_t>::max();
        by_number[each.number] = i;
        if (const auto earlier = by_number.find(each.follows); each.follows != 0 && earlier != by_number.end()) {
            follows_[i] = earlier->second + 1;
        }
        if (!each.update && read != CountRead::AtOnce) continue;  // it moves nothing
        const auto [number, new_task] = number_of.try_emplace(each.tid, static_cast<int>(tasks_.size()));
        if (new_task) tasks_.push_back(each.tid);
        task_of_[i] = number->second;
    }
    abandoned_ |= lanes_.size() > kMostLanes;
    if (!abandoned_) run(count);
}

void OrderSearch::run(std::int64_t count) {
    nodes_.push_back({count});
    at_.assign(lanes_.size(), 0);
    sums_.assign(tasks_.size(), {});
    layers_.push_back({0});
    while (!layers_.back().empty()) {
        layers_.emplace_back();
        of_layer_.clear();
        const std::size_t layer = layers_.size() - 2;
        for (std::size_t i = 0; i < layers_[layer].size() && !abandoned_; ++i)
            expand(layers_[layer][i]);
        if (abandoned_) return;
    }
    layers_.pop_back();
}

const OrderSearch::Step *OrderSearch::next(std::uint32_t node, std::size_t lane) const {
    const std::size_t done = at(node)[lane];
    const std::vector<Step> &steps = lanes_[lane].steps;
    return done < steps.size() ? &steps[done] : nullptr;
}

std::uint64_t OrderSearch::earliest(const Step &step) const {
    return step.update ? event(step).begin_ns : event(step).t_ns;
}

std::uint64_t OrderSearch::latest(const Step &step) const {
    return step.reading && !step.update ? event(step).end_ns : event(step).t_ns;
}

/// Whether the lane's next step may come now: no step of another lane must precede it, and the previous event of its
/// task is done.
bool OrderSearch::allowed(std::uint32_t node, std::size_t lane) const {
    const Step &step = *next(node, lane);
    const std::uint64_t from = earliest(step);
    for (std::size_t other = 0; other < lanes_.size(); ++other) {
        const Step *const first = other == lane ? nullptr : next(node, other);
        if (first != nullptr && latest(*first) + kClockSkewNs < from) return false;
    }
    const bool first_of_event = step.update || !event(step).update;
    if (!first_of_event || follows_[step.event] == 0) return true;
    const auto [earlier_lane, steps] = lane_of_[follows_[step.event] - 1];
    return at(node)[earlier_lane] >= steps;
}

void OrderSearch::expand(std::uint32_t node) {
    const Node from = nodes_[node];
    if (from.pending == 0 && read_ == CountRead::Later) {
        // A reading that shows no change is taken first, because every step that may precede it may also follow it.
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            const Step *const step = next(node, lane);
            if (step == nullptr || step->update || event(*step).count != from.count || !allowed(node, lane)) continue;
            return step_to(node, lane, 0, 0);
        }
    }
    const std::size_t edges = edges_.size();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const Step *const step = next(node, lane);
        if (step == nullptr || !allowed(node, lane)) continue;
        const std::int64_t sum = event(*step).count - from.count;
        if (!step->reading) {
            step_to(node, lane, 0, 0);
        } else if (step->update) {
            if (event(*step).moved.has(sum)) step_to(node, lane, std::uint64_t{1} << lane, sum);
        } else if (from.pending != 0) {
            step_to(node, lane, from.pending, sum);
        }
    }
    nodes_[node].stuck = edges_.size() == edges;
}

/// For each of these lanes, the update that took effect last, or on the `thread` scheme the one of its next step.
std::vector<std::size_t> OrderSearch::updates_of(std::uint64_t lanes, std::uint32_t node) const {
    std::vector<std::size_t> updates;
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
        const std::size_t done = at(node)[lane];
        updates.push_back(lanes_[lane].steps[read_ == CountRead::AtOnce ? done : done - 1].event);
    }
    return updates;
}

std::uint32_t OrderSearch::node_for(std::uint32_t from, std::size_t lane, std::int64_t count, std::uint64_t pending) {
    std::uint64_t hash = static_cast<std::uint64_t>(count) * 0x9e3779b97f4a7c15ULL ^ pending;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        hash = (hash ^ (at(from)[i] + (i == lane ? 1U : 0U))) * 0x9e3779b97f4a7c15ULL;
    const auto [begin, end] = of_layer_.equal_range(hash);
    for (auto found = begin; found != end; ++found) {
        const std::uint32_t node = found->second;
        if (nodes_[node].count != count || nodes_[node].pending != pending) continue;
        bool same = true;
        for (std::size_t i = 0; same && i < lanes_.size(); ++i)
            same = at(node)[i] == at(from)[i] + (i == lane ? 1 : 0);
        if (same) return node;
    }
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    Node node;
    node.count = count;
    node.pending = pending;
    nodes_.push_back(node);
    at_.resize(at_.size() + lanes_.size());
    std::copy_n(at(from), lanes_.size(), at(made));
    ++at(made)[lane];
    sums_.resize(sums_.size() + tasks_.size());
    of_layer_.emplace(hash, made);
    layers_.back().push_back(made);
    abandoned_ |= nodes_.size() > kMostNodes || sums_.size() > kMostSums;
    return made;
}

/// Takes the lane's next step. `reported`: the lanes whose updates come to `sum` by this reading.
void OrderSearch::step_to(std::uint32_t from, std::size_t lane, std::uint64_t reported, std::int64_t sum) {
    const Step step = *next(from, lane);
    std::vector<PageRange> shares;  // of tasks
    int cost = nodes_[from].cost;
    if (reported != 0) {
        const std::vector<std::size_t> updates = updates_of(reported, from);
        std::vector<const PageSet *> sets;
        std::vector<int> groups;
        bool usual = true;
        for (const std::size_t update : updates) {
            sets.push_back(&events_[update].moved);
            groups.push_back(task_of_[update]);
        }
        if (updates.size() == 1) {
            if (!sets[0]->has(sum)) return;
            usual = sum == events_[updates[0]].usual.value_or(sum);
            shares.assign(tasks_.size(), {});
            shares[static_cast<std::size_t>(groups[0])] = {sum, sum};
        } else {
            shares = share_of_sum(sets, groups, static_cast<int>(tasks_.size()), sum);
            if (shares.empty()) return;
            shares.erase(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(updates.size()));
            cost += 2;
        }
        cost += usual ? 0 : 1;
        cost += (reported >> lane & 1) != 0 ? 0 : 1;
    }
    if (step.reading) {
        for (std::size_t other = 0; other < lanes_.size(); ++other) {
            const Step *const first = other == lane ? nullptr : next(from, other);
            cost += first != nullptr && event(*first).t_ns < event(step).t_ns ? 1 : 0;
        }
    }
    const bool takes_effect = step.update && !step.reading;
    const std::int64_t count = step.reading ? event(step).count : nodes_[from].count;
    const std::uint64_t pending =
        takes_effect ? nodes_[from].pending | std::uint64_t{1} << lane : (reported != 0 ? 0 : nodes_[from].pending);
    const std::size_t nodes = nodes_.size();
    const std::uint32_t to = node_for(from, lane, count, pending);
    const bool made = nodes_.size() != nodes;
    edges_.push_back({from, to, static_cast<std::uint32_t>(lane), reported, sum});
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
        PageRange here = sums(from)[task];
        if (!shares.empty()) here = {here.least + shares[task].least, here.most + shares[task].most};
        PageRange &there = sums(to)[task];
        there = made ? here : PageRange{std::min(there.least, here.least), std::max(there.most, here.most)};
    }
    if (!made && nodes_[to].cost <= cost) return;
    nodes_[to].cost = cost;
    nodes_[to].best_edge = edges_.size();
}

std::uint64_t OrderSearch::done_by(std::uint32_t node) const {
    std::uint64_t last = 0;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (const std::size_t done = at(node)[lane]; done > 0)
            last = std::max(last, latest(lanes_[lane].steps[done - 1]));
    }
    return last;
}

bool OrderSearch::between_events(std::uint32_t node) const {
    if (nodes_[node].pending != 0) return false;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const std::size_t done = at(node)[lane];
        if (done > 0 && !lanes_[lane].steps[done - 1].reading) return false;
    }
    return true;
}

/// Whether no step can follow, and records that have not come may change this.
bool OrderSearch::waits(std::uint32_t node, std::uint64_t complete_ns) const {
    if (!nodes_[node].stuck) return false;
    bool at_end = true;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const Step *const step = next(node, lane);
        if (step == nullptr) continue;
        at_end = false;
        const CounterEvent &of = event(*step);
        if (std::max(of.t_ns, of.end_ns) + kClockSkewNs >= complete_ns) return true;
    }
    return at_end;
}

/// By node: whether an order goes through it that is complete, or that later records may continue.
std::vector<bool> OrderSearch::alive(std::uint64_t complete_ns) const {
    std::vector<bool> alive(nodes_.size());
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
        alive[node] = waits(node, complete_ns);
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge)  // edges are in the order of layers
        if (alive[edge->to]) alive[edge->from] = true;
    return alive;
}

std::optional<OrderSearch::Solution> OrderSearch::certain(std::uint64_t complete_ns) const {
    const std::vector<bool> may_go_on = alive(complete_ns);
    std::optional<std::uint32_t> last;
    std::vector<std::uint32_t> sole;  // nodes that all orders go through
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
        std::optional<std::uint32_t> only;
        std::size_t count = 0;
        bool waiting = false;
        for (const std::uint32_t node : layers_[layer]) {
            if (!may_go_on[node]) continue;
            only = node;
            ++count;
            waiting = waiting || nodes_[node].stuck;
        }
        if (count == 1) sole.push_back(*only);
        if (count == 1 && layer > 0 && between_events(*only) && done_by(*only) + kClockSkewNs < complete_ns) {
            last = only;
        }
        if (waiting) break;  // some orders end here, and later records may continue them
    }
    if (!last) return std::nullopt;
    Solution found = solution(std::span(&*last, 1));
    while (sole.back() != *last)
        sole.pop_back();
    date(sole, found);
    return found;
}

/// The nodes that all orders towards `ends` go through, in order.
std::vector<std::uint32_t> OrderSearch::sole_towards(std::span<const std::uint32_t> ends) const {
    std::vector<bool> leads(nodes_.size());
    for (const std::uint32_t end : ends)
        leads[end] = true;
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge)
        if (leads[edge->to]) leads[edge->from] = true;
    std::vector<std::uint32_t> sole;
    for (const std::vector<std::uint32_t> &layer : layers_) {
        const auto leading = [&](std::uint32_t node) { return leads[node]; };
        if (std::count_if(layer.begin(), layer.end(), leading) == 1)
            sole.push_back(*std::find_if(layer.begin(), layer.end(), leading));
    }
    return sole;
}

/// Sets since_ns and shown_ns: at a node that all orders go through, the steps done precede the others. `nodes`: all of
/// these nodes in order, up to where the solution ends.
void OrderSearch::date(std::span<const std::uint32_t> nodes, Solution &solution) const {
    solution.since_ns.assign(events_.size(), 0);
    for (std::size_t n = 1; n < nodes.size(); ++n) {
        const std::uint32_t from = nodes[n - 1], to = nodes[n];
        const std::uint64_t before_ns = solution.shown_ns;
        const auto steps =
            std::inner_product(at(to), at(to) + lanes_.size(), at(from), 0, std::plus<>(), std::minus<>());
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            for (std::size_t done = at(from)[lane]; done < at(to)[lane]; ++done) {
                const Step &step = lanes_[lane].steps[done];
                const CounterEvent &of = event(step);
                if (step.update) solution.since_ns[step.event] = before_ns;
                if (read_ == CountRead::AtOnce) {
                    solution.shown_ns = std::max(solution.shown_ns, of.begin_ns);
                } else if (step.reading && steps == 1 && shows(from, to, of, solution)) {
                    solution.shown_ns = std::max(solution.shown_ns, of.t_ns);
                }
            }
        }
    }
}

/// Whether no update that is done only after this reading can have taken effect before it. A reading that shows a
/// change was tried at all places. A reading that shows none was taken first (expand()). Updates that cancel each other
/// may have preceded it, unless all of them move the counter in one direction.
bool OrderSearch::shows(std::uint32_t from, std::uint32_t to, const CounterEvent &reading,
                        const Solution &solution) const {
    constexpr std::size_t kMostChecked = 128;
    if (nodes_[from].pending != 0) return true;
    if (events_.size() > kMostChecked) return false;
    bool up = false, down = false;
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const CounterEvent &each = events_[i];
        const auto [lane, steps] = lane_of_[i];
        const bool done = at(to)[lane] + 1U >= steps;  // its update is done, even if its reading is not
        if (!each.update || done || each.cpu == reading.cpu || each.begin_ns > reading.end_ns + kClockSkewNs) continue;
        const PageRange hull = each.moved.empty() ? PageRange{-1, 1} : each.moved.hull();
        const std::int64_t least = solution.done[i] ? solution.moved[i].least : hull.least;
        const std::int64_t most = solution.done[i] ? solution.moved[i].most : hull.most;
        up = up || most >= 0;
        down = down || least <= 0;
    }
    return !up || !down;
}

bool OrderSearch::contradictory(std::uint64_t complete_ns) const {
    return !alive(complete_ns).front();
}

OrderSearch::Solution OrderSearch::all() const {
    for (std::size_t layer = layers_.size(); layer-- > 0;) {
        std::vector<std::uint32_t> ends;
        for (const std::uint32_t node : layers_[layer]) {
            if (between_events(node)) ends.push_back(node);
        }
        // If some events are not done, the ends may differ in which ones are done. A solution requires ends with the
        // same events done.
        const auto rest = [&](std::uint32_t node) {
            return !std::equal(at(node), at(node) + lanes_.size(), at(ends.front()));
        };
        const auto cheaper = [this](std::uint32_t a, std::uint32_t b) { return nodes_[a].cost < nodes_[b].cost; };
        if (ends.empty()) continue;
        if (std::any_of(ends.begin(), ends.end(), rest)) {
            const std::uint32_t best = *std::min_element(ends.begin(), ends.end(), cheaper);
            return solution(std::span(&best, 1));
        }
        std::sort(ends.begin(), ends.end(), cheaper);
        Solution found = solution(ends);
        found.complete = std::find(found.done.begin(), found.done.end(), false) == found.done.end();
        found.sole_count = std::all_of(ends.begin(), ends.end(),
                                       [&](std::uint32_t node) { return nodes_[node].count == found.count; });
        date(sole_towards(ends), found);
        return found;
    }
    return {};
}

/// `nodes` have the same events done; the first is the most likely.
OrderSearch::Solution OrderSearch::solution(std::span<const std::uint32_t> nodes) const {
    const std::uint32_t node = nodes.front();
    Solution found;
    found.count = nodes_[node].count;
    found.done.resize(events_.size());
    found.moved.resize(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const auto [lane, steps] = lane_of_[i];
        found.done[i] = at(node)[lane] >= steps;
    }
    std::vector<Amount> by_task(tasks_.size());
    std::vector<bool> leads(nodes_.size());
    std::vector<bool> seen(events_.size());
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
        by_task[task] = {sums(node)[task].least, sums(node)[task].most, 0};
        for (const std::uint32_t each : nodes) {
            by_task[task].least = std::min(by_task[task].least, sums(each)[task].least);
            by_task[task].most = std::max(by_task[task].most, sums(each)[task].most);
        }
    }
    for (const std::uint32_t each : nodes)
        leads[each] = true;

    // The bounds over all paths that lead to these nodes. Edges are in the order of layers.
    for (std::size_t i = edges_.size(); i-- > 0;) {
        const Edge &edge = edges_[i];
        if (!leads[edge.to]) continue;
        leads[edge.from] = true;
        if (edge.reported == 0) continue;
        const std::vector<std::size_t> updates = updates_of(edge.reported, edge.from);
        std::vector<const PageSet *> sets;
        sets.reserve(updates.size());
        for (const std::size_t update : updates)
            sets.push_back(&events_[update].moved);
        const std::vector<int> groups(updates.size(), 0);
        const std::vector<PageRange> ranges = share_of_sum(sets, groups, 1, edge.sum);
        for (std::size_t u = 0; u < updates.size(); ++u) {
            Amount &moved = found.moved[updates[u]];
            moved.least = seen[updates[u]] ? std::min(moved.least, ranges[u].least) : ranges[u].least;
            moved.most = seen[updates[u]] ? std::max(moved.most, ranges[u].most) : ranges[u].most;
            seen[updates[u]] = true;
        }
    }
    // The likely amounts, by the cheapest path.
    for (std::uint32_t here = node; nodes_[here].best_edge != 0;) {
        const Edge &edge = edges_[nodes_[here].best_edge - 1];
        here = edge.from;
        if (edge.reported == 0) continue;
        const std::vector<std::size_t> updates = updates_of(edge.reported, edge.from);
        std::vector<const PageSet *> sets;
        std::int64_t left = edge.sum;
        std::int64_t takers = 0;
        for (const std::size_t update : updates) {
            sets.push_back(&events_[update].moved);
            left -= events_[update].usual.value_or(0);
            takers += events_[update].usual ? 0 : 1;
        }
        std::vector<std::int64_t> preferred;
        preferred.reserve(updates.size());
        for (const std::size_t update : updates)
            preferred.push_back(events_[update].usual.value_or(takers == 0 ? 0 : left / takers));
        const std::vector<std::int64_t> chosen = choose_with_sum(sets, preferred, edge.sum);
        for (std::size_t u = 0; u < updates.size(); ++u) {
            found.moved[updates[u]].likely = chosen[u];
            by_task[static_cast<std::size_t>(task_of_[updates[u]])].likely += chosen[u];
        }
    }
    for (std::size_t task = 0; task < tasks_.size(); ++task)
        found.by_task.emplace_back(tasks_[task], by_task[task]);
    return found;
}

}  // namespace rsslag::core
