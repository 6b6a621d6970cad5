// SPDX-License-Identifier: BSD-2-Clause
#include "model_mix.h"

#include <algorithm>
#include <map>

namespace rsslag::core::test {
namespace {

class MixedWork {
  public:
    MixedWork(ModelKernel &kernel, const Mix &mix) : kernel_(kernel), mix_(mix) {}

    void plan(ModelTask &task) {
        if (mix_.storm_only) {
            if (task.group->traced) storm(task);
            return;
        }
        if (!task.group->traced) {
            visit(task);
        } else if (mix_.lifecycle && kernel_.dice().once_in(60)) {
            live(task);
        } else {
            touch(task);
        }
    }

  private:
    void storm(ModelTask &task) {
        int &touched = touched_[task.serial];
        if (touched < 2'048) {
            ++touched;
            kernel_.anon_fault(task);
            return;
        }
        touched = 0;
        for (int table = 0; table < 4; ++table)
            kernel_.zap(task, {{0}, {512}, {0}, {0}});
    }

    void touch(ModelTask &task) {
        Dice &dice = kernel_.dice();
        const std::int64_t what = dice.between(0, 99);
        if (what < 50) return kernel_.anon_fault(task);
        // Kernels of the cpu scheme make one update of the pages that filemap_map_pages() maps, which may be none.
        const std::int64_t fewest = kernel_.options().scheme == Scheme::Cpu ? 0 : 1;
        if (what < 62) return kernel_.file_fault(task, dice.between(fewest, 16));
        if (what < 70) return kernel_.cow_fault(task);
        if (what < 76) return kernel_.shmem_fault(task);
        if (what < 80) return kernel_.swap_in_fault(task);
        if (what < 82) return kernel_.empty_fault(task);
        if (what < 84) return kernel_.populate(task, dice.between(1, 90));
        if (what < 86) return reach_out(task);
        if (what < 87 && mix_.huge_pages) return kernel_.huge_fault(task);
        if (what < 93) return kernel_.zap(task, {{0}, {dice.between(1, 512)}, {0}, {0}});
        kernel_.zap(task, {{dice.between(0, 64)}, {dice.between(0, 512)}, {dice.between(0, 8)}, {dice.between(0, 32)}});
    }

    /// A traced task updates another mm: process_vm_writev(), or direct reclaim.
    void reach_out(ModelTask &task) {
        ModelMm *mm = any_mm();
        if (!mm || mm == task.mm) return;
        if (kernel_.dice().once_in(2)) return kernel_.write_into(task, *mm);
        kernel_.swap_out(task, *mm);
    }

    /// kswapd, a writer, a reader of smaps.
    void visit(ModelTask &task) {
        Dice &dice = kernel_.dice();
        if (ModelMm *held = held_[task.serial]) {
            held_[task.serial] = nullptr;
            return kernel_.release(task, *held);
        }
        ModelMm *mm = any_mm();
        if (!mm || !dice.once_in(4)) return;
        const std::int64_t what = dice.between(0, 9);
        if (what < 6) return kernel_.swap_out(task, *mm);
        if (what < 8) return kernel_.write_into(task, *mm);
        held_[task.serial] = mm;
        kernel_.hold(task, *mm);
    }

    void live(ModelTask &task) {
        Dice &dice = kernel_.dice();
        const int threads = threads_that_stay(*task.group);
        const std::int64_t what = dice.between(0, 19);
        if (what < 8) {
            if (threads < mix_.threads) kernel_.make_thread(task);
        } else if (what < 11) {
            if (threads > 1) kernel_.exit(task);
        } else if (what < 13) {
            if (groups() < mix_.groups) kernel_.fork(task);
        } else if (what == 13) {
            if (groups() < mix_.groups && kernel_.options().follow) kernel_.fork_sharing(task);
        } else if (what < 16) {
            kernel_.exec(task, "image" + std::to_string(++names_));
        } else if (what == 16) {
            kernel_.search_path(task, static_cast<int>(dice.between(1, 5)));
        } else if (what == 17) {
            kernel_.rename(task, "name" + std::to_string(++names_));
        } else if (groups() > 2) {
            kernel_.exit_group(task);
        }
    }

    int threads_that_stay(const ModelGroup &group) const {
        const std::vector<ModelTask *> threads = kernel_.threads_of(group);
        return static_cast<int>(
            std::count_if(threads.begin(), threads.end(), [](const ModelTask *task) { return !task->dying; }));
    }

    int groups() const {
        std::map<const ModelGroup *, bool> living;
        for (const ModelTask *task : kernel_.tasks()) {
            if (task->group->traced && !task->dying) living[task->group] = true;
        }
        return static_cast<int>(living.size());
    }

    ModelMm *any_mm() {
        const std::vector<ModelMm *> mms = kernel_.traced_mms();
        if (mms.empty()) return nullptr;
        return mms[static_cast<std::size_t>(kernel_.dice().ns(0, mms.size() - 1))];
    }

    ModelKernel &kernel_;
    Mix mix_;
    std::map<std::uint64_t, int> touched_;
    std::map<std::uint64_t, ModelMm *> held_;
    int names_ = 0;
};

}  // namespace

Planner mixed_work(ModelKernel &kernel, const Mix &mix) {
    return [work = MixedWork(kernel, mix)](ModelTask &task) mutable { work.plan(task); };
}

}  // namespace rsslag::core::test
