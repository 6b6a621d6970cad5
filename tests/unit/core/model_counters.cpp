// SPDX-License-Identifier: BSD-2-Clause
// The model's counters: lib/percpu_counter.c on the `cpu` scheme, SPLIT_RSS_COUNTING (mm/memory.c, up to 6.1) on the
// `thread` scheme, and the records of the tracepoints on both.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "model_kernel.h"

namespace rsslag::core::test {
namespace {

/// mm/memory.c: TASK_RSS_EVENTS_THRESH
constexpr int kEventsThreshold = 64;

/// Takes up to `most` of the unplanned pages.
std::int64_t take_of(Pages &unplanned, std::int64_t most) {
    const std::int64_t taken = std::clamp<std::int64_t>(unplanned.n, 0, std::max<std::int64_t>(most, 0));
    unplanned.n -= taken;
    return taken;
}

}  // namespace

void ModelKernel::account(const Change &change) {
    change.mm->exact[change.member].n += change.amount;
    change.mm->rss_most = std::max(change.mm->rss_most, change.mm->exact.rss());
    change.mm->rss_least = std::min(change.mm->rss_least, change.mm->exact.rss());
    change.mm->net[change.by->serial][change.member].n += change.amount;
    if (change.amount > 0) change.mm->unplanned[change.member].n += change.amount;
    touched_ += static_cast<std::uint64_t>(std::abs(change.amount));
}

void ModelKernel::change(const Change &change, std::uint64_t lead_ns) {
    if (options_.scheme == Scheme::Cpu) {
        push_update_on_cpu(change, lead_ns);
    } else {
        push_direct(change, lead_ns);
    }
}

void ModelKernel::change_fast(const Change &change, std::uint64_t lead_ns) {
    if (options_.scheme == Scheme::Thread && change.by->mm == change.mm) {
        push(*change.by, lead_ns, [this, change] {
            change.by->cached[change.member].n += change.amount;
            account(change);
        });
        return;
    }
    this->change(change, lead_ns);
}

void ModelKernel::note_overlap(Cpu &cpu, const Change &change) {
    cpu.in_flight = change.mm;
    cpu.member = change.member;
    for (const Cpu &other : cpus_) {
        if (&other == &cpu || !cpu.open_fold || !other.open_fold) continue;
        if (other.in_flight == change.mm && other.member == change.member) ++open_overlaps_;
    }
}

void ModelKernel::add_on_cpu(const Change &change) {
    Cpu &cpu = cpu_of(*change.by);
    std::int64_t &local = change.mm->local[static_cast<std::size_t>(change.by->on_cpu)][change.member].n;
    const bool fold = std::abs(local + change.amount) >= options_.batch;
    if (fold) {
        change.mm->count[change.member].n += local + change.amount;
        local = 0;
    } else {
        local += change.amount;
    }
    cpu.open_fold = fold && (change.by->fault == 0 || change.amount != 1);
    cpu.folded = fold;
    note_overlap(cpu, change);
    account(change);
}

/// How long an interrupt takes the CPU away, 0 if there is none.
std::uint64_t ModelKernel::interrupt() {
    if (options_.interrupt_one_in == 0 || !dice_.once_in(options_.interrupt_one_in)) return 0;
    return dice_.ns(1'000, 20'000);
}

/// What bpf/stream_cpu.bpf.h does until it takes the time.
void ModelKernel::begin_record(const Change &change) {
    Cpu &cpu = cpu_of(*change.by);
    cpu.stamp_ns = now_;
    cpu.users = change.mm->users;
    if (cpu.users == 0 && change.mm->traced) end_sums_of(*change.mm, cpu);
    cpu.summed = (change.by->group->traced || change.mm->traced) && summed_up(change);
}

// The count of the record is read after the time was taken: another CPU's fold may come in between.
void ModelKernel::push_update_on_cpu(const Change &change, std::uint64_t lead_ns) {
    push(*change.by, lead_ns, [this, change] { add_on_cpu(change); });
    push(*change.by, dice_.ns(20, 60) + interrupt(), [this, change] { begin_record(change); });
    push(
        *change.by, dice_.ns(10, 70) + interrupt(),
        [this, change] {
            Cpu &cpu = cpu_of(*change.by);
            const Members &local = change.mm->local[static_cast<std::size_t>(change.by->on_cpu)];
            emit_update(change, cpu.stamp_ns, local[change.member].n,
                        cpu.folded ? FlushReason::Fold : FlushReason::Direct);
            cpu.in_flight = nullptr;
        },
        true);
}

void ModelKernel::push_direct(const Change &change, std::uint64_t lead_ns) {
    const bool at_once = options_.interrupt_one_in == 0;
    const auto emit = [this, change] {
        emit_update(change, now_, change.by->cached[change.member].n, FlushReason::Direct);
    };
    push(
        *change.by, lead_ns,
        [this, change, at_once, emit] {
            change.by->returned = change.mm->count[change.member].n += change.amount;
            account(change);
            if (at_once) emit();
        },
        at_once);
    if (!at_once) push(*change.by, interrupt(), emit, true);
}

/// sync_mm_rss(); to be called from a step of the task.
void ModelKernel::push_sync(ModelTask &task, FlushReason reason) {
    if (options_.scheme != Scheme::Thread) return;
    for (const Member member : kAllMembers) {
        if (task.cached[member].n != 0) flush_member(task, member, reason);
    }
    push(task, 0, [&task] { task.events = 0; });
}

void ModelKernel::flush_member(ModelTask &task, Member member, FlushReason reason) {
    const bool at_once = options_.interrupt_one_in == 0;
    const auto emit = [this, &task, member, reason] {
        const std::int64_t amount = task.cached[member].n;
        emit_update({&task, task.mm, member, amount}, now_, amount, reason);
    };
    push(task, dice_.ns(20, 80), [&task, member, at_once, emit] {
        task.returned = task.mm->count[member].n += task.cached[member].n;
        if (at_once) emit();
    });
    if (!at_once) push(task, interrupt(), emit);
    // A reader in between sees these pages twice.
    push(task, dice_.ns(50, 150), [&task, member] { task.cached[member].n = 0; });
}

/// check_sync_rss_stat(), at the start of handle_mm_fault().
void ModelKernel::check_sync(ModelTask &task) {
    if (options_.scheme != Scheme::Thread || !task.mm) return;
    if (task.events++ > kEventsThreshold) push_sync(task, FlushReason::Threshold);
}

void ModelKernel::enter_fault(ModelTask &task, std::uint16_t kind) {
    push(task, dice_.ns(200, 900), [this, &task, kind] {
        task.fault = kind;
        task.fault_address = static_cast<std::uint64_t>(dice_.between(1, 1 << 20)) << 12U;
        ++(kind == RSSLAG_OF_USER_FAULT ? task.user_faults : task.kernel_faults);
        emit_fault(task, false);
    });
    push(task, dice_.ns(30, 90), [this, &task] { check_sync(task); });
}

void ModelKernel::leave_fault(ModelTask &task) {
    push(
        task, dice_.ns(30, 90),
        [this, &task] {
            if (options_.after_fault) emit_fault(task, true);
            task.fault = 0;
            task.fault_address = 0;
        },
        true);
}

void ModelKernel::emit_fault(ModelTask &task, bool after) {
    if (options_.scheme != Scheme::Thread || !task.mm || !(task.group->traced || task.mm->traced)) return;
    rsslag_fault record{};
    record.kind = RSSLAG_FAULT;
    record.flags = static_cast<rsslag_u16>(task.fault | RSSLAG_OWN | (task.exiting ? RSSLAG_EXITING : 0) |
                                           (task.in_execve ? RSSLAG_EXECVE : 0) | (after ? RSSLAG_AFTER_FAULT : 0));
    record.tid = task.tid;
    record.t_ns = now_;
    record.mm = task.mm->address;
    record.address = task.fault_address;
    for (const Member member : kAllMembers)
        record.cached[static_cast<std::size_t>(member)] = static_cast<rsslag_s32>(task.cached[member].n);
    record.events = task.events;
    record.cpu = static_cast<rsslag_u16>(task.on_cpu);
    records_.push_back({record});
}

std::uint16_t ModelKernel::flags_of(const Change &change) {
    const ModelTask &by = *change.by;
    const bool own = by.mm == change.mm;
    const bool ends = (options_.scheme == Scheme::Cpu ? cpu_of(*change.by).users : change.mm->users) == 0;
    // Faults of an exiting task are not reported, and a teardown is not within a fault.
    unsigned flags = by.exiting || ends ? 0U : by.fault;
    if (ends) flags |= RSSLAG_TEARDOWN;
    if (own) flags |= RSSLAG_OWN;
    if (by.exiting) flags |= RSSLAG_EXITING;
    if (by.in_execve) flags |= RSSLAG_EXECVE;
    if (!by.group->traced) flags |= RSSLAG_BY_OTHER;
    if (own && by.events > kEventsThreshold + 1) flags |= RSSLAG_THRESHOLD;
    const bool newborn = change.mm->newborn && by.group->traced && !own;
    if (newborn && !ends) flags |= RSSLAG_NEWBORN;
    return static_cast<std::uint16_t>(flags);
}

void ModelKernel::emit_update(const Change &change, std::uint64_t t_ns, std::int64_t cached, FlushReason reason) {
    ModelTask &by = *change.by;
    if (!by.group->traced && !change.mm->traced) return;
    if (!by.group->traced) announce(by, t_ns);
    rsslag_update record{};
    record.kind = RSSLAG_UPDATE;
    record.flags = flags_of(change);
    record.tid = by.tid;
    record.t_ns = t_ns;
    record.mm = change.mm->address;
    record.address = by.exiting ? 0 : by.fault_address;
    record.count = options_.scheme == Scheme::Cpu ? change.mm->count[change.member].n : by.returned;
    record.cached = static_cast<rsslag_s32>(cached);
    record.cpu = static_cast<rsslag_u16>(by.on_cpu);
    record.member = static_cast<rsslag_u8>(change.member);
    if (options_.scheme == Scheme::Cpu && cached == 0 && now_ - t_ns <= RSSLAG_PROMPT_NS) record.flags |= RSSLAG_PROMPT;
    if (change.mm->users == 0) change.mm->end_reported = true;
    const bool summed = options_.scheme == Scheme::Cpu && cpu_of(by).summed;
    if (!summed) records_.push_back({record, change.amount, reason});
    ++change.mm->updates;
}

/// bpf/sum.bpf.h: whether this update is in a sum now; if not, the CPU's open sum is sent.
bool ModelKernel::summed_up(const Change &change) {
    if (!options_.counting) return false;
    const ModelTask &by = *change.by;
    Cpu &cpu = cpu_of(by);
    const unsigned flags = flags_of(change) & (RSSLAG_OWN | RSSLAG_BY_OTHER);
    const std::int64_t cached = change.mm->local[static_cast<std::size_t>(by.on_cpu)][change.member].n;
    const bool plain = cached != 0 && change.mm->traced && cpu.users != 0 && !by.exiting && flags != 0;
    if (!plain || cpu.sum.mm != change.mm->address || cpu.sum.tid != by.tid) end_sum(cpu, now_);
    if (!plain) return false;
    cpu.sum.kind = RSSLAG_SUM;
    cpu.sum.flags = static_cast<rsslag_u16>(flags);
    cpu.sum.tid = by.tid;
    cpu.sum.mm = change.mm->address;
    cpu.sum.cpu = cpu.sum.of = static_cast<rsslag_u16>(by.on_cpu);
    cpu.sum.cached[static_cast<std::size_t>(change.member)] = static_cast<rsslag_s32>(cached);
    cpu.sum.members |= static_cast<rsslag_u8>(1U << static_cast<unsigned>(change.member));
    ++cpu.sum.updates;
    return true;
}

void ModelKernel::end_sum(Cpu &cpu, std::uint64_t t_ns) {
    cpu.sum.t_ns = t_ns;
    if (cpu.sum.mm != 0) records_.push_back({cpu.sum});
    const std::uint32_t number = cpu.sum.number;
    cpu.sum = {};
    cpu.sum.number = number + 1;
    cpu.reported = 0;
}

void ModelKernel::end_sums_of(const ModelMm &mm, Cpu &by) {
    for (Cpu &cpu : cpus_) {
        if (cpu.sum.mm != mm.address) continue;
        rsslag_sum sum = cpu.sum;
        sum.t_ns = now_;
        sum.cpu = static_cast<rsslag_u16>(&by - cpus_.data());
        records_.push_back({sum});
        cpu.sum.mm = 0;
    }
}

void ModelKernel::read_sums() {
    for (Cpu &cpu : cpus_) {
        if (cpu.sum.mm == 0 || cpu.sum.updates == cpu.reported) continue;
        cpu.reported = cpu.sum.updates;
        rsslag_sum sum = cpu.sum;
        sum.t_ns = now_;
        sum.flags |= RSSLAG_PARTIAL;
        records_.push_back({sum});
    }
}

void ModelKernel::zap_now(ModelTask &by, ModelMm &mm, const Members &most) {
    if (by.mm == &mm) push_sync(by, FlushReason::Zap);
    std::uint64_t lead_ns = dice_.ns(1'000, 20'000);
    for (const Member member : kAllMembers) {
        const std::int64_t pages = take_of(mm.unplanned[member], most[member].n);
        if (pages == 0) continue;
        change({&by, &mm, member, -pages}, lead_ns);
        lead_ns = dice_.ns(10, 40);
    }
}

void ModelKernel::zap(ModelTask &by, const Members &most) {
    push(by, dice_.ns(100, 400), [this, &by, most] { zap_now(by, *by.mm, most); });
}

void ModelKernel::fault(ModelTask &by, Member member, std::int64_t pages) {
    enter_fault(by, dice_.once_in(8) ? RSSLAG_OF_KERNEL_FAULT : RSSLAG_OF_USER_FAULT);
    push(by, 0, [this, &by, member, pages] { change_fast({&by, by.mm, member, pages}, dice_.ns(150, 600)); });
    leave_fault(by);
}

void ModelKernel::anon_fault(ModelTask &by) {
    fault(by, Member::Anon, 1);
}

void ModelKernel::file_fault(ModelTask &by, std::int64_t pages) {
    fault(by, Member::File, pages);
}

void ModelKernel::shmem_fault(ModelTask &by) {
    fault(by, Member::Shmem, 1);
}

void ModelKernel::empty_fault(ModelTask &by) {
    enter_fault(by, RSSLAG_OF_USER_FAULT);
    leave_fault(by);
}

// do_wp_page() of a file page, and do_swap_page(): one page moves from one member to another.
void ModelKernel::cow_fault(ModelTask &by) {
    exchange_fault(by, Member::File);
}

void ModelKernel::swap_in_fault(ModelTask &by) {
    exchange_fault(by, Member::Swap);
}

void ModelKernel::exchange_fault(ModelTask &by, Member from) {
    enter_fault(by, RSSLAG_OF_USER_FAULT);
    push(by, 0, [this, &by, from] {
        if (take_of(by.mm->unplanned[from], 1) == 1) change_fast({&by, by.mm, from, -1}, dice_.ns(150, 600));
        change_fast({&by, by.mm, Member::Anon, 1}, dice_.ns(20, 100));
    });
    leave_fault(by);
}

// __do_huge_pmd_anonymous_page() adds to the mm's counter directly, not to the task's cache.
void ModelKernel::huge_fault(ModelTask &by) {
    enter_fault(by, RSSLAG_OF_USER_FAULT);
    push(by, 0, [this, &by] { change({&by, by.mm, Member::Anon, 512}, dice_.ns(20'000, 60'000)); });
    leave_fault(by);
}

void ModelKernel::populate(ModelTask &by, std::int64_t pages) {
    for (std::int64_t i = 0; i < pages; ++i) {
        push(by, dice_.ns(50, 200), [this, &by] {
            check_sync(by);
            change_fast({&by, by.mm, Member::Anon, 1}, dice_.ns(150, 500));
        });
    }
}

/// Work in an mm without a reference to it: the mm's teardown waits for it, as for page table locks.
void ModelKernel::visit(ModelTask &by, ModelMm &mm, std::function<void()> work) {
    ++mm.visitors;
    push(by, dice_.ns(500, 3'000), std::move(work));
    push(by, 0, [&mm] { --mm.visitors; });
}

void ModelKernel::swap_out(ModelTask &by, ModelMm &mm) {
    visit(by, mm, [this, &by, &mm] {
        if (take_of(mm.unplanned.anon, 1) == 0) return;
        change({&by, &mm, Member::Anon, -1}, dice_.ns(300, 900));
        change({&by, &mm, Member::Swap, 1}, dice_.ns(20, 60));
    });
}

void ModelKernel::write_into(ModelTask &by, ModelMm &mm) {
    visit(by, mm, [this, &by, &mm] { change_fast({&by, &mm, Member::Anon, 1}, dice_.ns(300, 900)); });
}

}  // namespace rsslag::core::test
