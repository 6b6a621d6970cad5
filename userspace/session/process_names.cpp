// SPDX-License-Identifier: BSD-2-Clause
#include "session/process_names.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "procfs/process.h"
#include "procfs/program.h"
#include "procfs/system.h"
#include "procfs/user_names.h"

namespace rsslag::session {

struct ProcessNames::Job {
    struct Item {
        int host_tgid = 0, tgid = 0;
        Known known;
    };
    std::vector<Item> items;
    procfs::UserNames users;
    std::atomic<bool> done = false;

    void run();
};

void ProcessNames::Job::run() {
    for (Item &item : items) {
        const auto process = procfs::Process::open(item.tgid);
        if (!process) continue;
        documents::ProcessNames &names = item.known.names;
        if (const auto task = process->memory_task()) names.user = users.of(task->status.real_uid);
        if (const auto text = process->read_of_memory_task("cgroup"))
            names.cgroup = procfs::parse_cgroup(text->bytes).value_or("");
        names.command_line = procfs::command_line(*process);
    }
    done = true;
}

void ProcessNames::take_results() {
    if (!job_ || !job_->done) return;
    for (Job::Item &item : job_->items)
        known_.insert_or_assign(item.host_tgid, std::move(item.known));
    job_.reset();
}

void ProcessNames::fill(std::vector<documents::TopProcess> &processes) {
    const auto now = Clock::now();
    const auto is_same = [](const Known &known, const core::ProcessTotal &total) {
        return known.started_ns == total.started_ns && known.mm == total.mm;
    };
    const auto put = [&] {
        for (documents::TopProcess &process : processes) {
            const auto found = known_.find(process.total.host_tgid);
            if (found != known_.end() && is_same(found->second, process.total)) process.names = found->second.names;
        }
    };
    take_results();
    struct Requested {
        const documents::TopProcess *process = nullptr;
        Clock::time_point read_at{};  ///< of names that are new: the epoch
    };
    std::vector<Requested> requested;
    std::unordered_map<int, Known> still;
    for (const documents::TopProcess &process : processes) {
        if (process.total.tgid == 0) continue;
        const auto found = known_.find(process.total.host_tgid);
        const bool known = found != known_.end() && is_same(found->second, process.total);
        const auto read_at = known ? found->second.read_at : Clock::time_point{};
        if (!known || now - read_at > kOld) requested.push_back({&process, read_at});
        if (known) still.emplace(process.total.host_tgid, std::move(found->second));
    }
    known_ = std::move(still);
    if (!job_ && !requested.empty()) {
        const auto end = requested.begin() + static_cast<std::ptrdiff_t>(std::min(requested.size(), kAtOnce));
        std::partial_sort(requested.begin(), end, requested.end(), [](const Requested &a, const Requested &b) {
            return a.read_at != b.read_at ? a.read_at < b.read_at : a.process->lag() > b.process->lag();
        });
        job_ = std::make_shared<Job>();
        for (auto each = requested.begin(); each != end; ++each) {
            const core::ProcessTotal &total = each->process->total;
            job_->items.push_back({total.host_tgid, total.tgid, {total.started_ns, total.mm, now, {}}});
        }
        walker_.run([job = job_] { job->run(); });
        take_results();
    }
    put();
}

}  // namespace rsslag::session
