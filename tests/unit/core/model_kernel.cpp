// SPDX-License-Identifier: BSD-2-Clause
// Time in the model: which task runs on which CPU, and which step is next.
#include "model_kernel.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rsslag::core::test {

std::uint64_t time_of(const WireRecord &record) {
    return std::visit([](const auto &r) { return r.t_ns; }, record);
}

ModelKernel::ModelKernel(const ModelOptions &options)
    : options_(options), dice_(options.seed), cpus_(static_cast<std::size_t>(options.cpus)) {
    for (Cpu &cpu : cpus_)
        cpu.next_ns = now_ + dice_.ns(1, 300);
}

void ModelKernel::push(ModelTask &task, std::uint64_t lead_ns, std::function<void()> run, bool may_switch) {
    Step step{lead_ns, may_switch, std::move(run)};
    if (stepping_ == &task) {
        inserted_.push_back(std::move(step));
    } else {
        task.steps.push_back(std::move(step));
    }
}

void ModelKernel::pause(ModelTask &task) {
    push(
        task, dice_.ns(50, 300), [] {}, true);
}

bool ModelKernel::busy() const {
    return std::any_of(alive_.begin(), alive_.end(), [](const ModelTask *task) { return !task->steps.empty(); });
}

void ModelKernel::give_work(Cpu &cpu, const Planner &planner) {
    const auto number = static_cast<int>(&cpu - cpus_.data());
    const std::size_t first = alive_.empty() ? 0 : static_cast<std::size_t>(dice_.ns(0, alive_.size() - 1));
    for (std::size_t i = 0; i < alive_.size(); ++i) {
        ModelTask &task = *alive_[(first + i) % alive_.size()];
        if (task.on_cpu >= 0 || task.pinned.value_or(number) != number) continue;
        if (task.steps.empty() && planner && !task.dying) planner(task);
        if (task.steps.empty()) continue;
        task.on_cpu = number;
        cpu.running = &task;
        cpu.next_ns = now_ + task.steps.front().lead_ns + 1;
        return;
    }
    cpu.next_ns = now_ + dice_.ns(200, 600);
}

void ModelKernel::run_step(Cpu &cpu) {
    ModelTask &task = *cpu.running;
    const Step step = std::move(task.steps.front());
    task.steps.pop_front();
    stepping_ = &task;
    step.run();
    stepping_ = nullptr;
    task.steps.insert(task.steps.begin(), std::make_move_iterator(inserted_.begin()),
                      std::make_move_iterator(inserted_.end()));
    inserted_.clear();
    const bool leaves = task.steps.empty() || (step.may_switch && dice_.once_in(options_.switch_one_in));
    if (leaves) {
        task.on_cpu = -1;
        cpu.running = nullptr;
    }
    cpu.next_ns = now_ + 1 + (leaves ? dice_.ns(20, 200) : task.steps.front().lead_ns);
}

void ModelKernel::step_earliest(const Planner &planner) {
    Cpu &cpu =
        *std::min_element(cpus_.begin(), cpus_.end(), [](const Cpu &a, const Cpu &b) { return a.next_ns < b.next_ns; });
    now_ = std::max(now_, cpu.next_ns);
    if (cpu.running) {
        run_step(cpu);
    } else {
        give_work(cpu, planner);
    }
}

void ModelKernel::run_for(std::uint64_t ns, const Planner &planner) {
    const std::uint64_t end = now_ + ns;
    const auto earliest = [this] {
        return std::min_element(cpus_.begin(), cpus_.end(),
                                [](const Cpu &a, const Cpu &b) { return a.next_ns < b.next_ns; })
            ->next_ns;
    };
    while (earliest() <= end)
        step_earliest(planner);
    now_ = end;
}

void ModelKernel::settle() {
    while (busy())
        step_earliest(nullptr);
}

std::vector<Emitted> ModelKernel::take_records(std::uint64_t before) {
    const auto later = std::stable_partition(records_.begin(), records_.end(), [before](const Emitted &emitted) {
        return time_of(emitted.record) < before;
    });
    std::vector<Emitted> taken(std::make_move_iterator(records_.begin()), std::make_move_iterator(later));
    records_.erase(records_.begin(), later);
    std::stable_sort(taken.begin(), taken.end(),
                     [](const Emitted &a, const Emitted &b) { return time_of(a.record) < time_of(b.record); });
    return taken;
}

std::vector<ModelTask *> ModelKernel::tasks_of(const ModelMm &mm) const {
    std::vector<ModelTask *> found;
    std::copy_if(alive_.begin(), alive_.end(), std::back_inserter(found),
                 [&mm](const ModelTask *task) { return task->mm == &mm; });
    std::sort(found.begin(), found.end(), [](const ModelTask *a, const ModelTask *b) { return a->tid < b->tid; });
    return found;
}

std::vector<ModelTask *> ModelKernel::threads_of(const ModelGroup &group) const {
    std::vector<ModelTask *> found;
    std::copy_if(alive_.begin(), alive_.end(), std::back_inserter(found),
                 [&group](const ModelTask *task) { return task->group == &group; });
    return found;
}

ModelTask *ModelKernel::find_task(int tid) const {
    const auto found =
        std::find_if(alive_.begin(), alive_.end(), [tid](const ModelTask *task) { return task->tid == tid; });
    return found == alive_.end() ? nullptr : *found;
}

std::vector<ModelMm *> ModelKernel::traced_mms() const {
    std::vector<ModelMm *> found;
    for (const ModelTask *task : alive_) {
        if (!task->mm || !task->mm->traced || task->mm->users == 0) continue;
        if (std::find(found.begin(), found.end(), task->mm) == found.end()) found.push_back(task->mm);
    }
    return found;
}

}  // namespace rsslag::core::test
