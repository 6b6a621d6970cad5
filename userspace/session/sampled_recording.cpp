// SPDX-License-Identifier: BSD-2-Clause
#include "session/sampled_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "core/text.h"
#include "exporters/sink.h"
#include "profile/collector.h"
#include "profile/profile.h"
#include "system/machine.h"

namespace rsslag::session {
namespace {

using core::Error;
using core::Kind;
using core::Status;

class SampleSink final : public exporters::Sink {
  public:
    SampleSink(std::string path, const std::set<int> &pids) : path_(std::move(path)), pids_(pids) {}

    Status begin(const exporters::Facts &facts) override {
        if (facts.sample_period == 0)
            return Error{Kind::BadInput, fmt::format("{} has no stacks", core::printable(path_)), 0,
                         "record it with rsslag record --stacks"};
        if (facts.boot_id.empty() || facts.boot_id != system::kernel_uuid("boot_id"))
            return Error{Kind::BadInput, fmt::format("{} is not of this boot of this machine", core::printable(path_)),
                         0, "record the process again"};
        start_ = facts.time;
        collector_.begin(facts.sample_period);
        return core::success();
    }
    Status row(const exporters::Row &row) override {
        std::visit([this](const auto &each) { last_ns_ = std::max(last_ns_, each.at.t_ns); }, row);
        if (const auto *const reading = std::get_if<exporters::ReadingRow>(&row);
            reading != nullptr && pids_.contains(reading->at.pid))
            start_ticks_[reading->at.pid] = reading->start_ticks;
        collector_.note(row);
        return core::success();
    }
    void samples(const core::event::Samples &samples) override { collector_.samples(samples); }
    void stacks(const core::event::Stacks &stacks) override { collector_.stacks(stacks); }
    void absent_pages(const core::event::AbsentPages &absent) override { collector_.absent_pages(absent); }
    Status end(const exporters::Ending &ending) override {
        complete_ = ending.complete && !ending.at_least();
        if (!collector_.too_many_pages()) return core::success();
        return Error{Kind::BadInput,
                     fmt::format("{} has more than {} samples of pages", core::printable(path_),
                                 core::with_thousands(profile::Arrivals::kMost)),
                     0, "record with a larger --stacks=PAGES"};
    }

    memory::SampledRecording take() {
        memory::SampledRecording recording;
        recording.file = path_;
        recording.end = start_ + std::chrono::microseconds(last_ns_ / 1000);
        for (const auto &[pid, ticks] : start_ticks_)
            recording.processes.emplace(pid, memory::SampledRecording::Process{ticks, collector_.sampled_pages(pid)});
        const profile::Profile profile = collector_.take();
        recording.period = profile.period;
        recording.lost = profile.lost;
        recording.complete = complete_;
        for (const core::CallStack &stack : profile.stacks) {
            std::vector<std::string> &functions = recording.stacks.emplace_back();
            for (const std::uint32_t frame : stack.frames)
                functions.push_back(profile::name_of(profile.frames[frame]));
        }
        return recording;
    }

  private:
    std::string path_;
    const std::set<int> &pids_;
    std::chrono::system_clock::time_point start_;
    std::uint64_t last_ns_ = 0;
    bool complete_ = true;
    std::map<int, std::uint64_t> start_ticks_;  ///< by PID
    profile::Collector collector_;
};

}  // namespace

core::Result<std::shared_ptr<const memory::SampledRecording>> read_samples(const std::string &path,
                                                                           const std::set<int> &pids,
                                                                           const analysis::Stop &stop) {
    SampleSink sink(path, pids);
    const auto read = analysis::emit_rows(path, sink, stop);
    if (!read) return read.error();
    if (*read == analysis::Stopped::Yes)
        return Error{Kind::Io, core::printable(path) + " was not read: a signal stopped rsslag", 0, ""};
    return std::make_shared<const memory::SampledRecording>(sink.take());
}

}  // namespace rsslag::session
