// SPDX-License-Identifier: BSD-2-Clause
// The recording of a trace, from its start or from a key on.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <tuple>
#include <utility>

#include "session/live_view.h"
#include "session/session.h"
#include "system/command.h"
#include "system/file_rights.h"
#include "system/machine.h"
#include "system/privileges.h"
#include "terminal/output.h"

namespace rsslag::session {

using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

std::string host_name() {
    utsname name{};
    return uname(&name) == 0 ? name.nodename : "";
}

/// A file name in the current directory with the local time.
std::string name_of_recording(int pid) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    return fmt::format("rsslag-{}-{:04}{:02}{:02}T{:02}{:02}{:02}.rsslag", pid, local.tm_year + 1900, local.tm_mon + 1,
                       local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

/// In MiB, or in kB if it would round to 0.0 MiB.
std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kLeast = (1 << 20) / 20;  // which is rounded to 0.1
    if (bytes < kLeast) return fmt::format("{} kB", (bytes + 1023) / 1024);
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string written(const recording::Writer::Progress &progress, const std::string &file) {
    return fmt::format("{} events, {} in {}", progress.records, size_text(progress.bytes), file);
}

}  // namespace

Status Session::prepare_recording(const std::vector<std::string> &command) {
    command_line_ = options_.command_line;
    if (!command.empty()) command_line_.emplace_back("--");
    command_line_.insert(command_line_.end(), command.begin(), command.end());
    recording::Writer::Options &chosen = file_options_;
    chosen.force = options_.force;
    chosen.sync = options_.sync;
    chosen.max_bytes = options_.max_bytes;
    Status owned = writer_.on_screen() || !options_.recording.empty() ? find_owner() : core::success();
    if (options_.recording.empty()) {
        if (!owned) cannot_record_ = owned.error();
        return core::success();
    }
    if (!owned) return owned;
    auto writer = recording::Writer::create(options_.recording, chosen);
    if (!writer) return writer.error();
    recording_.emplace(std::move(*writer));
    file_ = options_.recording;
    return core::success();
}

/// Files that are created or renamed later: by then rsslag has no capability to give them to their owner.
Status Session::find_owner() {
    const bool created_later = options_.max_bytes || options_.recording.empty();
    const auto ids = system::ids_to_write(options_.recording.empty() ? "./recording" : options_.recording);
    if (!ids) return ids.error();
    if (*ids && (created_later || options_.force)) {
        file_options_.owner = recording::Owner{(*ids)->uid, (*ids)->gid};
        file_options_.as_owner = true;
        return system::set_saved_ids((*ids)->uid, (*ids)->gid);
    }
    const auto user = system::invoking_user();
    if (!user) return user.error();
    if (*user && !created_later) file_options_.owner = recording::Owner{(*user)->uid, (*user)->gid};
    return core::success();
}

recording::Header Session::header() const {
    recording::Header header;
    header.writer = options_.version;
    header.host = host_name();
    header.boot_id = system::kernel_uuid("boot_id");
    header.trace_id = system::kernel_uuid("uuid");
    header.command_line = command_line_;
    header.sample_period = options_.samples.period;
    header.interval_ms = static_cast<std::uint64_t>(interval_.count());
    // Without --threads, readers of the recording show all threads.
    header.threads = static_cast<std::uint8_t>(options_.typed.threads.empty() ? core::ThreadChoice::Which::All
                                                                              : options_.threads.which);
    header.threads_top = options_.threads.top;
    return header;
}

void Session::notify(std::string notice) {
    if (writer_.screen() != nullptr) {
        post_notice(*writer_.screen(), std::move(notice));
    } else {
        terminal::print_error(notice);
    }
}

void Session::show_recording() {
    if (writer_.screen() == nullptr) return;
    writer_.screen()->post([on = tracer_->recording() != nullptr](terminal::Shown &shown) {
        if (shown.live) shown.live->record(on);
    });
}

/// The key r. It does not end a recording that was started with the trace.
void Session::record_or_end(int pid) {
    if (tracer_->recording() != nullptr && !by_key_) {
        notify(fmt::format("the whole trace is being recorded in {}", file_));
    } else if (tracer_->recording() != nullptr) {
        if (auto ended = tracer_->end_recording()) ending_.emplace(std::move(*ended));
    } else if (ending_) {
        notify(fmt::format("{} is still being written", file_));
    } else if (cannot_record_) {
        notify(cannot_record_->what);
    } else {
        record_from_here(name_of_recording(pid));
    }
    show_recording();
}

void Session::record_from_here(const std::string &file) {
    recording::Writer::Options chosen = file_options_;
    chosen.force = false;
    chosen.as_owner = chosen.owner.has_value();
    auto writer = recording::Writer::create(file, chosen);
    if (!writer) return notify(writer.error().what);
    by_key_ = true;
    file_ = file;
    tracer_->record(std::move(*writer), header());
    notify(fmt::format("recording from here in {}; r ends it", file));
}

/// Finishes a recording that the key r has ended, once it is completely written.
void Session::look_at_ending() {
    if (!ending_ || !ending_->progress().ended) return;
    const Status done = ending_->finish();
    notify(done ? written(ending_->progress(), file_) : done.error().what);
    recording_failed_ = recording_failed_ || !done;
    ending_.reset();
}

/// Looks after the recording. A failure ends `record`; `live` continues without a recording.
Status Session::look_at_recording() {
    look_at_ending();
    recording::Writer *const recording = tracer_->recording();
    if (recording == nullptr || (recording_failed_ && !by_key_)) return core::success();
    const recording::Writer::Progress progress = recording->progress();
    if (progress.failed) {
        recording_failed_ = true;
        if (writer_.format() == Format::Progress) return *progress.failed;
        if (by_key_) std::ignore = tracer_->end_recording();
        notify(progress.failed->what);
        show_recording();
        return core::success();
    }
    if (writer_.format() == Format::Progress) show_progress(progress, false);
    if (!progress.full) return core::success();
    tracer_->next_segment();
    return writer_.flush();
}

/// Shows progress: on a terminal one line each second that replaces the last one, else a line every 10 s.
void Session::show_progress(const recording::Writer::Progress &progress, bool last) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    const auto now = Clock::now();
    const bool due = progress_due_ != Clock::time_point{} && now >= progress_due_;
    if (due || progress_due_ == Clock::time_point{})
        progress_due_ = now + (terminal ? milliseconds{1000} : milliseconds{10'000});
    if (!last && !due) return;
    if (spdlog::get_level() >= spdlog::level::err) return;
    const std::uint64_t lost = tracer_->losses().lost() + progress.records_lost;
    const std::string line = fmt::format("{}{} events, {}, {} lost{}", terminal ? "\r" : "", progress.records,
                                         size_text(progress.bytes), lost, terminal && !last ? "\033[K" : "\n");
    writer_.progress(line);
}

recording::Writer *Session::last_recording() {
    return ending_ ? &*ending_ : tracer_->recording();
}

/// `peak` is that of the trace: only a recording of the whole trace contains it.
Status Session::finish_recording(const std::optional<recording::PeakLag> &peak) {
    recording::Writer *const recording = last_recording();
    if (recording == nullptr) return core::success();
    const bool whole = !by_key_ && !options_.max_bytes;
    const Status done = recording->finish(whole ? peak : std::nullopt);
    if (writer_.format() == Format::Progress) show_progress(recording->progress(), true);
    // Without a screen the failure has been reported when it happened.
    return recording_failed_ && !writer_.on_screen() ? core::success() : done;
}

void Session::report_recording(bool done) {
    recording::Writer *const recording = last_recording();
    if (recording == nullptr) return;
    const recording::Writer::Progress progress = recording->progress();
    if (by_key_ && done) terminal::print_error(written(progress, file_));
    if (progress.events_lost == 0) return;
    terminal::print_error(
        fmt::format("the recording lacks {} events: it could not be written fast enough", progress.records_lost));
}

}  // namespace rsslag::session
