// SPDX-License-Identifier: BSD-2-Clause
// Start and end of tasks and mms in the model: fork, exec and exit in the order of kernels (docs/kernel.md).
#include <algorithm>
#include <utility>

#include "model_kernel.h"

namespace rsslag::core::test {

ModelMm &ModelKernel::make_mm() {
    ModelMm &mm = mms_.emplace_back();
    if (free_addresses_.empty()) {
        mm.address = next_address_;
        next_address_ += 1024;
    } else {
        // The slab allocator returns the object that was freed last.
        mm.address = free_addresses_.back();
        free_addresses_.pop_back();
    }
    mm.local.resize(static_cast<std::size_t>(options_.cpus));
    return mm;
}

ModelGroup &ModelKernel::make_group(bool traced) {
    ModelGroup &group = groups_.emplace_back();
    group.traced = traced;
    return group;
}

ModelTask &ModelKernel::make_task(ModelGroup &group, ModelMm *mm, const std::string &comm) {
    ModelTask &task = all_tasks_.emplace_back();
    task.serial = all_tasks_.size();
    if (options_.reuse_tids && !free_tids_.empty()) {
        task.tid = free_tids_.back();
        free_tids_.pop_back();
    } else {
        task.tid = next_tid_++;
    }
    if (group.tasks == 0) group.tgid = task.tid;
    task.group = &group;
    task.mm = mm;
    if (mm) mm->owners.insert(task.serial);
    task.comm = comm;
    ++group.live;
    ++group.tasks;
    alive_.push_back(&task);
    return task;
}

ModelTask &ModelKernel::make_process(const std::string &comm, bool traced) {
    ModelMm &mm = make_mm();
    mm.newborn = false;
    mm.traced = traced;
    mm.exact = {{dice_.between(50, 400)}, {dice_.between(50, 900)}, {0}, {dice_.between(0, 60)}};
    mm.unplanned = mm.exact;
    mm.count = mm.exact;
    return make_task(make_group(traced), &mm, comm);
}

ModelTask &ModelKernel::make_kernel_thread(const std::string &comm) {
    ModelTask &task = make_task(make_group(false), nullptr, comm);
    task.tid = static_cast<int>(50 + task.serial);
    task.group->tgid = task.tid;
    return task;
}

void ModelKernel::emit_task(std::uint16_t kind, const ModelTask &task, std::uint16_t flags, int parent, int old_tid) {
    rsslag_task record{};
    record.kind = kind;
    record.flags = flags;
    record.tid = task.tid;
    record.t_ns = now_;
    record.mm = task.mm ? task.mm->address : 0;
    record.tgid = task.group->tgid;
    record.ns_tid = ns_pid(task.tid);
    record.ns_tgid = ns_pid(task.group->tgid);
    record.parent = parent;
    record.old_tid = old_tid;
    record.cpu = static_cast<rsslag_u16>(std::max(task.on_cpu, 0));
    if (kind == RSSLAG_EXIT) {
        record.user_faults = task.user_faults;
        record.kernel_faults = task.kernel_faults;
    }
    task.comm.copy(record.comm, sizeof record.comm - 1);
    records_.push_back({record});
}

void ModelKernel::announce(ModelTask &task, std::uint64_t t_ns) {
    if (task.announced && !dice_.once_in(20)) return;
    task.announced = true;
    emit_task(RSSLAG_SEEN, task, 0);
    std::get<rsslag_task>(records_.back().record).t_ns = t_ns - 5;
}

void ModelKernel::rename(ModelTask &by, const std::string &comm) {
    push(by, dice_.ns(100, 500), [this, &by, comm] {
        by.comm = comm;
        if (by.group->traced) emit_task(RSSLAG_RENAME, by, 0);
    });
}

void ModelKernel::make_thread(ModelTask &by) {
    push(
        by, dice_.ns(5'000, 20'000),
        [this, &by] {
            if (by.dying) return;
            ++by.mm->users;
            finish_fork(by, make_task(*by.group, by.mm, by.comm), RSSLAG_SHARES_MM | RSSLAG_SAME_GROUP);
        },
        true);
}

/// The new task exists: emits its NEWTASK record.
void ModelKernel::finish_fork(const ModelTask &by, ModelTask &child, std::uint16_t flags) {
    if (!by.group->traced) return;
    if (child.group->traced) {
        child.mm->traced = true;
        flags = static_cast<std::uint16_t>(flags | RSSLAG_TRACED);
    }
    const int cpu = std::exchange(child.on_cpu, by.on_cpu);
    emit_task(RSSLAG_NEWTASK, child, flags, by.tid);
    child.on_cpu = cpu;
}

void ModelKernel::fork(ModelTask &by) {
    push(by, dice_.ns(5'000, 20'000), [this, &by] {
        ModelMm &mm = make_mm();
        copy_pages(by, mm);
        push(
            by, dice_.ns(2'000, 9'000),
            [this, &by, &mm] {
                mm.newborn = false;
                ModelGroup &group = make_group(by.group->traced && options_.follow);
                finish_fork(by, make_task(group, &mm, by.comm), 0);
            },
            true);
    });
}

// copy_page_range(): a page table at a time, straight into the child's counters; the parent's cache stays as it is.
void ModelKernel::copy_pages(ModelTask &by, ModelMm &child) {
    Members left = by.mm->unplanned;
    left.file.n = dice_.between(0, std::max<std::int64_t>(left.file.n, 0));
    for (const Member member : kAllMembers) {
        while (left[member].n > 0) {
            const std::int64_t pages = std::min<std::int64_t>(left[member].n, dice_.between(1, 512));
            change({&by, &child, member, pages}, dice_.ns(300, 9'000));
            left[member].n -= pages;
        }
    }
}

void ModelKernel::fork_sharing(ModelTask &by) {
    push(
        by, dice_.ns(5'000, 20'000),
        [this, &by] {
            ++by.mm->users;
            finish_fork(by, make_task(make_group(by.group->traced && options_.follow), by.mm, by.comm),
                        RSSLAG_SHARES_MM);
        },
        true);
}

// fs/exec.c get_arg_page(): the page itself goes to the new mm; acct_arg_size() charges the old one with it for a
// while, directly, not in the task's cache.
void ModelKernel::push_argument_page(ModelTask &by, ModelMm &newborn) {
    push(by, dice_.ns(500, 3'000), [this, &by] { check_sync(by); });
    change_fast({&by, &newborn, Member::Anon, 1}, dice_.ns(200, 600));
    if (!options_.argument_pages) return;
    // There is no such page in the old mm, so no task may zap it.
    push(by, 0, [mm = by.mm] { --mm->unplanned.anon.n; });
    change({&by, by.mm, Member::Anon, 1}, dice_.ns(30, 90));
}

// execvp() tries each directory of PATH: an mm for each, in which no task ever lives.
void ModelKernel::search_path(ModelTask &by, int candidates) {
    for (int i = 0; i < candidates; ++i) {
        push(by, dice_.ns(1'000, 9'000), [this, &by] {
            ModelMm &newborn = make_mm();
            push_argument_page(by, newborn);
            push(by, 50, [this, &by, &newborn] { fail_exec(by, newborn); });
        });
    }
}

void ModelKernel::exec(ModelTask &by, const std::string &comm) {
    push(by, dice_.ns(9'000, 30'000), [this, &by, comm] {
        if (by.dying) return;
        ModelMm &newborn = make_mm();
        push_argument_page(by, newborn);
        push(by, dice_.ns(1'000, 9'000), [this, &by, &newborn, comm] {
            if (by.dying) {
                fail_exec(by, newborn);
            } else {
                finish_exec(by, newborn, comm);
            }
        });
    });
}

void ModelKernel::fail_exec(ModelTask &by, ModelMm &newborn) {
    if (options_.argument_pages) change({&by, by.mm, Member::Anon, -1}, dice_.ns(900, 4'000));
    push(by, 50, [this, &by, &newborn] { drop_user(by, newborn); });
}

/// begin_new_exec() and what a loader does after it.
void ModelKernel::finish_exec(ModelTask &by, ModelMm &newborn, const std::string &comm) {
    by.in_execve = true;
    for (ModelTask *other : threads_of(*by.group)) {
        if (other != &by) exit(*other);
    }
    wait_until_alone(by);
    push(by, 100, [this, &by] { become_leader(by); });
    if (options_.argument_pages) change({&by, by.mm, Member::Anon, -1}, dice_.ns(100, 900));
    push(by, 100, [this, &by, &newborn] { switch_mm(by, newborn); });
    fault(by, Member::File, dice_.between(1, 16));
    fault(by, Member::Anon, 1);
    push(
        by, dice_.ns(500, 2'000),
        [this, &by, comm, old_tid = by.tid] {
            by.comm = comm;
            by.mm->traced = by.group->traced;
            if (by.group->traced) emit_task(RSSLAG_EXEC, by, RSSLAG_TRACED, 0, old_tid);
            by.in_execve = false;
        },
        true);
}

/// de_thread() waits for the others of its group, a zombie leader included.
void ModelKernel::wait_until_alone(ModelTask &by) {
    if (threads_of(*by.group).size() == 1) return;
    push(
        by, dice_.ns(300, 900), [this, &by] { wait_until_alone(by); }, true);
}

void ModelKernel::become_leader(ModelTask &by) {
    if (by.tid == by.group->tgid) return;
    if (options_.reuse_tids) free_tids_.push_back(by.tid);
    by.tid = by.group->tgid;
    by.took_tid = true;
}

/// exec_mmap()
void ModelKernel::switch_mm(ModelTask &by, ModelMm &newborn) {
    push_sync(by, FlushReason::Exec);
    push(by, 50, [this, &by, &newborn] {
        ModelMm *old = std::exchange(by.mm, &newborn);
        newborn.newborn = false;
        newborn.owners.insert(by.serial);
        drop_user(by, *old);
    });
}

void ModelKernel::hold(ModelTask &by, ModelMm &mm) {
    ++mm.users;
    push(
        by, dice_.ns(100, 900), [] {}, true);
}

void ModelKernel::release(ModelTask &by, ModelMm &mm) {
    push(by, dice_.ns(100, 900), [this, &by, &mm] { drop_user(by, mm); });
}

/// mmput()
void ModelKernel::drop_user(ModelTask &by, ModelMm &mm) {
    if (--mm.users > 0) return;
    tear_down(by, mm);
}

// exit_mmap(): until all pages and visitors on other CPUs are gone. Only then may the address be used again.
void ModelKernel::tear_down(ModelTask &by, ModelMm &mm) {
    if (mm.visitors == 0 && mm.exact == Members{}) {
        mm.ended = true;
        if (mm.end_reported) ++ended_;
        free_addresses_.push_back(mm.address);
        return;
    }
    const std::int64_t most = dice_.between(1, 512);
    zap_now(by, mm, {{most}, {dice_.between(1, 512)}, {most}, {most}});
    push(
        by, dice_.ns(20, 90), [this, &by, &mm] { tear_down(by, mm); }, true);
}

void ModelKernel::exit_group(ModelTask &by) {
    push(by, 100, [this, &by] {
        for (ModelTask *task : threads_of(*by.group))
            exit(*task);
    });
}

/// do_exit()
void ModelKernel::exit(ModelTask &by) {
    if (std::exchange(by.dying, true)) return;
    push(by, dice_.ns(500, 2'000), [this, &by] {
        by.exiting = true;
        --by.group->live;
        push_sync(by, FlushReason::Exit);
        // mm_release() writes to clear_child_tid, which may fault.
        if (by.mm && dice_.once_in(3)) fault(by, Member::Anon, 1);
        if (options_.exit_before_teardown) push(by, 100, [this, &by] { emit_exit(by); });
        push(by, 100, [this, &by] { leave_mm(by); });
        if (!options_.exit_before_teardown) push(by, 100, [this, &by] { emit_exit(by); });
        push(by, 200, [this, &by] { reap(by); });
    });
}

void ModelKernel::leave_mm(ModelTask &by) {
    if (!by.mm) return;
    push_sync(by, FlushReason::Exit);
    push(by, 50, [this, &by] { drop_user(by, *std::exchange(by.mm, nullptr)); });
}

void ModelKernel::emit_exit(ModelTask &by) {
    if (by.group->traced || (by.mm && by.mm->traced))
        emit_task(RSSLAG_EXIT, by, by.group->live == 0 ? RSSLAG_GROUP_DEAD : 0);
}

/// A leader's TID is the group's, and free only when the group is empty.
void ModelKernel::reap(ModelTask &by) {
    by.gone = true;
    alive_.erase(std::find(alive_.begin(), alive_.end(), &by));
    --by.group->tasks;
    if (by.tid != by.group->tgid) free_tids_.push_back(by.tid);
    if (by.group->tasks == 0) free_tids_.push_back(by.group->tgid);
}

}  // namespace rsslag::core::test
