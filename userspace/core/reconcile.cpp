// SPDX-License-Identifier: BSD-2-Clause
#include "core/reconcile.h"

#include <algorithm>
#include <map>

namespace rsslag::core {
namespace {

/// Exact RSS by the mm's counters before and after its tasks were read: they differ if a task or CPU flushed meanwhile,
/// and then the true value lies between them.
Window window_of(const CounterReading &reading) {
    Members tasks;
    for (const TaskReading &task : reading.tasks)
        tasks += task.cached;
    const auto exact = [&tasks](const MmReading &mm) {
        Members sum = mm.flushed + tasks;
        for (const CpuReading &cpu : mm.cpus)
            sum += cpu.cached;
        return sum.rss();
    };
    const Pages first = exact(reading.first);
    const Pages last = exact(reading.last);
    return {std::min(first, last), std::max(first, last)};
}

Window window_of(const std::vector<CounterReading> &readings) {
    Window all = window_of(readings.front());
    for (const CounterReading &reading : readings) {
        const Window one = window_of(reading);
        all.min = std::min(all.min, one.min);
        all.max = std::max(all.max, one.max);
    }
    return all;
}

/// Faults of live tasks and of those that have exited; a group's sum of the latter is counted once.
std::uint64_t faults(const CounterReading &reading, std::uint64_t TaskReading::*field) {
    std::uint64_t sum = 0;
    std::map<int, std::uint64_t> groups;
    for (const TaskReading &task : reading.tasks) {
        sum += task.*field;
        groups[task.host_tgid] = task.group_faults;
    }
    for (const auto &[tgid, past] : groups)
        sum += past;
    return sum;
}

bool same_task(const TaskReading &a, const TaskReading &b) {
    return a.host_tid == b.host_tid && a.cached == b.cached && a.faults_since_flush == b.faults_since_flush;
}

/// Assigns parts of the residual to causes. The rest is unexplained.
class Explanation {
  public:
    explicit Explanation(Pages residual) : left_(residual) {}

    Pages left() const { return left_; }

    void assign(Cause cause, Pages pages) {
        if (pages.n == 0) return;
        causes_.push_back({cause, pages});
        left_ = left_ - pages;
    }

    std::vector<ResidualCause> finish() {
        assign(Cause::Unexplained, left_);
        return std::move(causes_);
    }

  private:
    Pages left_;
    std::vector<ResidualCause> causes_;
};

/// execve() takes at most 6 MiB of arguments, whatever the stack limit (fs/exec.c bprm_stack_limits). It charges the
/// pages of the new stack to ANON of the old mm. A walk of the old page tables does not find them.
Pages argument_pages(Pages left, const Members &exact, const Walk &walk, const PageSize &page_size) {
    constexpr std::int64_t kMostArgumentBytes = 6 * 1024 * 1024;
    if (left.n >= 0 || !walk.anonymous) return {};
    const Pages deficit = exact.anon - page_size.pages(*walk.anonymous);
    const Pages most{kMostArgumentBytes / page_size.bytes + 1};
    if (deficit != -left || deficit > most) return {};
    return left;
}

/// The kernel lowers total_vm only after it has zapped the pages of a mapping that left the tree (mm/vma.c
/// vms_complete_munmap_vmas). So total_vm exceeds the listed mappings by the virtual size of those that are still being
/// unmapped.
Pages unmapping_pages(Pages left, const MmReading &mm, const std::optional<Pages> &mapped) {
    if (left.n >= 0 || !mapped) return {};
    const Pages detached{static_cast<std::int64_t>(mm.total_vm) - mapped->n};
    return -left <= detached ? left : Pages{};
}

std::vector<ResidualCause> explain(Pages residual, const Bracket &bracket, const Members &exact,
                                   const PageSize &page_size, const Evidence &evidence) {
    Explanation explanation(residual);
    if (evidence.poisoned && explanation.left() >= *evidence.poisoned) {
        explanation.assign(Cause::Hwpoison, *evidence.poisoned);
    }
    if (evidence.in_execve) {
        explanation.assign(Cause::ExecArguments, argument_pages(explanation.left(), exact, *bracket.walk, page_size));
    }
    explanation.assign(Cause::InFlight,
                       unmapping_pages(explanation.left(), bracket.readings.back().last, evidence.mapped));
    return explanation.finish();
}

bool any_moved(const std::vector<CounterReading> &readings) {
    const auto changed = std::adjacent_find(readings.begin(), readings.end(), moved);
    return changed != readings.end();
}

}  // namespace

Pages distance(const Window &window, Pages value) {
    if (value < window.min) return value - window.min;
    if (value > window.max) return value - window.max;
    return {};
}

std::string_view name(WalkState state) {
    switch (state) {
        case WalkState::Done: return "done";
        case WalkState::Skipped: return "skipped";
        case WalkState::Denied: return "denied";
        case WalkState::Gone: return "gone";
        case WalkState::Unsupported: break;
    }
    return "unsupported";
}

std::string_view name(Verdict verdict) {
    switch (verdict) {
        case Verdict::Agrees: return "agrees";
        case Verdict::Explained: return "explained";
        case Verdict::Moving: return "moving";
        case Verdict::Unexplained: return "unexplained";
        case Verdict::Unwalked: break;
    }
    return "unwalked";
}

std::string_view name(Cause cause) {
    switch (cause) {
        case Cause::Moved: return "moved";
        case Cause::ExecArguments: return "exec_arguments";
        case Cause::InFlight: return "in_flight";
        case Cause::Hwpoison: return "hwpoison";
        case Cause::Unexplained: break;
    }
    return "unexplained";
}

std::string_view name(WalkFile file) {
    return file == WalkFile::Smaps ? "smaps" : "smaps_rollup";
}

bool moved(const CounterReading &earlier, const CounterReading &later) {
    if (earlier.mm != later.mm || !(earlier.first == earlier.last) || !(earlier.last == later.first) ||
        !(later.first == later.last)) {
        return true;
    }
    // The earlier faults are read before the earlier counters and the later faults after the later counters, so that
    // a fault between the two is detected, too.
    if (faults(earlier, &TaskReading::faults_before) != faults(later, &TaskReading::faults_after)) return true;
    return !std::equal(earlier.tasks.begin(), earlier.tasks.end(), later.tasks.begin(), later.tasks.end(), same_task);
}

Reconciliation reconcile(const Bracket &bracket, const PageSize &page_size, const Evidence &evidence) {
    const CounterReading &latest = bracket.readings.back();
    Reconciliation result;
    result.flushed = latest.flushed();
    result.cached = latest.cached();
    result.exact = latest.exact();
    result.window = window_of(bracket.readings);
    const bool moving = any_moved(bracket.readings);
    if (moving) result.verdict = Verdict::Moving;
    if (!bracket.walk) return result;
    const Pages walked = page_size.pages(bracket.walk->rss);
    if (moving) {
        result.residual = distance(result.window, walked);
        if (result.residual->n != 0) result.causes = {{Cause::Moved, *result.residual}};
        return result;
    }
    result.residual = walked - result.exact.rss();
    if (result.residual->n == 0) {
        result.verdict = Verdict::Agrees;
        return result;
    }
    result.causes = explain(*result.residual, bracket, result.exact, page_size, evidence);
    const bool whole = std::none_of(result.causes.begin(), result.causes.end(),
                                    [](const ResidualCause &c) { return c.cause == Cause::Unexplained; });
    result.verdict = whole ? Verdict::Explained : Verdict::Unexplained;
    return result;
}

}  // namespace rsslag::core
