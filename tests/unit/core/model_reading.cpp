// SPDX-License-Identifier: BSD-2-Clause
// What the snapshot iterator reads from the model, at one instant or over time.
#include <utility>

#include "model_kernel.h"

namespace rsslag::core::test {

void ModelKernel::attach(ModelMm &mm) {
    mm.net.clear();
    mm.baseline = mm.exact;
    mm.rss_most = mm.rss_least = mm.exact.rss();
    mm.updates = 0;
    for (Cpu &cpu : cpus_)
        end_sum(cpu, now_);
    records_.clear();
}

MmReading ModelKernel::read_mm(const ModelMm &mm, const std::function<void()> &meanwhile) const {
    MmReading reading;
    for (const Member member : kAllMembers) {
        reading.flushed[member] = mm.count[member];
        meanwhile();
    }
    if (options_.scheme != Scheme::Cpu) return reading;
    for (int cpu = 0; cpu < options_.cpus; ++cpu) {
        CpuReading one{cpu, {}};
        for (const Member member : kAllMembers) {
            one.cached[member] = mm.local[static_cast<std::size_t>(cpu)][member];
            meanwhile();
        }
        if (one.cached != Members{}) reading.cpus.push_back(one);
    }
    return reading;
}

TaskReading ModelKernel::read_task(const ModelTask &task) {
    TaskReading reading;
    reading.tid = ns_pid(task.tid);
    reading.tgid = ns_pid(task.group->tgid);
    reading.host_tid = task.tid;
    reading.host_tgid = task.group->tgid;
    reading.comm = task.comm;
    reading.cached = task.cached;
    reading.faults_since_flush = task.events;
    reading.faults_before = task.user_faults + task.kernel_faults;
    reading.faults_after = reading.faults_before;
    reading.in_execve = task.in_execve;
    return reading;
}

CounterReading ModelKernel::read(const ModelMm &mm) const {
    CounterReading reading;
    reading.scheme = options_.scheme;
    reading.mm = mm.address;
    reading.mm_users = mm.users;
    for (const ModelTask *task : tasks_of(mm))
        reading.tasks.push_back(read_task(*task));
    reading.first = read_mm(mm, [] {});
    reading.last = reading.first;
    return reading;
}

std::optional<CounterReading> ModelKernel::read_slowly(const ModelMm &mm, const Planner &planner) {
    const auto meanwhile = [&] {
        // The reader is preempted now and then.
        run_for(dice_.once_in(40) ? dice_.ns(5'000, 60'000) : dice_.ns(5, 250), planner);
    };
    CounterReading reading;
    reading.scheme = options_.scheme;
    reading.mm = mm.address;
    reading.mm_users = mm.users;
    reading.first = read_mm(mm, meanwhile);
    int last_tid = 0;
    while (true) {
        const ModelTask *next = nullptr;
        for (const ModelTask *task : tasks_of(mm)) {
            if (task->tid > last_tid && !next) next = task;
        }
        if (!next) break;
        reading.tasks.push_back(read_task(*next));
        last_tid = next->tid;
        meanwhile();
    }
    reading.last = read_mm(mm, meanwhile);
    if (mm.users == 0) return std::nullopt;
    return reading;
}

}  // namespace rsslag::core::test
