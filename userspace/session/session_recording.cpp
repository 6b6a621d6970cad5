// SPDX-License-Identifier: BSD-2-Clause
// The recording of a trace, from its start or from a key on.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
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

/// A file name with the local time.
std::string name_of_recording(std::string_view begin, std::string_view end) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    return fmt::format("{}-{:04}{:02}{:02}T{:02}{:02}{:02}{}", begin, local.tm_year + 1900, local.tm_mon + 1,
                       local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, end);
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

/// "which begins 1:02.3 before": how far back it goes.
std::string past_text(const Keeper::Taken &kept) {
    const auto ago = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - kept.since).count();
    return fmt::format("which begins {} min {} s before{}", ago / 60, ago % 60,
                       kept.dropped ? ", as more would take too much memory" : "");
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
    const bool saves = !options_.save_when.empty();
    Status owned = writer_.on_screen() || !options_.recording.empty() || saves ? find_owner() : core::success();
    if (!owned && !options_.recording.empty()) return owned;
    if (!owned) cannot_record_ = owned.error();
    const bool only_saves = saves && options_.format == Format::Progress;
    if (options_.recording.empty() || only_saves) return owned || !saves ? core::success() : owned;
    recording::Writer::Options held = chosen;
    held.hold = true;
    auto writer = recording::Writer::create(options_.recording, held);
    if (!writer) return writer.error();
    recording_.emplace(std::move(*writer));
    file_ = options_.recording;
    return core::success();
}

/// Files that are created or renamed later: by then rsslag has no capability to give them to their owner.
Status Session::find_owner() {
    const bool created_later = options_.max_bytes || options_.recording.empty() || !options_.save_when.empty();
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
    writer_.screen()->post([on = present_ != nullptr](terminal::Shown &shown) {
        if (shown.live) shown.live->record(on);
    });
}

/// The key r. It does not end a recording that was started with the trace.
void Session::record_or_end(const screen::Record &record) {
    if (present_ != nullptr && !by_key_) {
        notify(fmt::format("the whole trace is being recorded in {}", file_));
    } else if (present_ != nullptr) {
        end(*std::exchange(present_, nullptr), file_);
    } else if (cannot_record_) {
        notify(cannot_record_->what);
    } else {
        record_by_key(record);
    }
    show_recording();
}

void Session::record_by_key(const screen::Record &record) {
    const std::string file = name_of_recording(fmt::format("rsslag-{}", record.pid), ".rsslag");
    if (record.past) {
        const auto kept = save_kept(file);
        if (!kept) return notify(kept.error().what);
        present_ = kept->writer;
        notify(fmt::format("recording in {}, {}; r ends it", file, past_text(*kept)));
    } else {
        auto writer = recording::Writer::create(file, later_options());
        if (!writer) return notify(writer.error().what);
        present_ = &tracer_->record(std::move(*writer), header());
        notify(fmt::format("recording from here in {}; r ends it", file));
    }
    by_key_ = true;
    file_ = file;
}

/// Of a file that is created while the trace is running.
recording::Writer::Options Session::later_options() const {
    recording::Writer::Options chosen = file_options_;
    chosen.force = false;
    chosen.as_owner = chosen.owner.has_value();
    return chosen;
}

/// Starts to keep the last part of the trace, if a key or the condition can save it later.
void Session::keep_last() {
    constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
    if (options_.keep.count() == 0 || cannot_record_) return;
    keeper_.emplace(Keeper::Hooks{[this]() -> recording::Writer & {
                                      return tracer_->record(recording::Writer::in_memory(later_options()), header());
                                  },
                                  [this](recording::Writer &writer) { std::ignore = tracer_->end_recording(writer); },
                                  [](const recording::Writer &writer) { return writer.progress().bytes; }},
                    options_.keep, kMost);
    keeper_->look(Clock::now());
    if (options_.format == Format::Progress)
        notify(fmt::format("keeping the last {} s; saved when {}",
                           std::chrono::round<std::chrono::seconds>(options_.keep).count(), options_.typed.save_when));
}

/// A recording starts with the counters of all processes, and each tick contains those of all threads. So without
/// --keep nothing is kept of very many.
void Session::look_at_kept() {
    constexpr std::size_t kMost = 1000;
    if (!keeper_) return;
    if (options_.typed.keep.empty() && options_.save_when.empty() && tracer_->size() > kMost)
        keeper_->clear();
    else
        keeper_->look(Clock::now());
}

/// Writes what is kept to this file. The recording goes on there.
core::Result<Keeper::Taken> Session::save_kept(const std::string &file) {
    const auto taken = keeper_ ? keeper_->take(Clock::now()) : std::nullopt;
    if (!taken) return core::Error{core::Kind::BadInput, "nothing was kept: --keep 1m keeps the last minute", 0, ""};
    if (Status saved = taken->writer->save(file); !saved) {
        std::ignore = tracer_->end_recording(*taken->writer);
        return saved.error();
    }
    return *taken;
}

/// Saves what is kept when the condition becomes true, and what follows until some time after it has become false.
void Session::look_at_condition() {
    constexpr std::chrono::seconds kAfter{10};
    if (!save_when_) return;
    const auto now = Clock::now();
    const bool holds = save_when_->holds();
    if (saving_) {
        if (holds) saving_->held = now;
        if (now - saving_->held < kAfter && now - saving_->since < std::max<milliseconds>(options_.keep, kAfter))
            return;
        const Saving ended = *std::exchange(saving_, std::nullopt);
        end(*ended.writer, ended.file);
    } else if (holds && condition_was_false_ && saved_ < options_.save_limit) {
        save(save_when_->reason());
    }
    condition_was_false_ = !holds;
}

void Session::save(const std::string &reason) {
    const std::string &base = options_.recording;
    const std::size_t name = base.rfind('/') + 1;  // 0 without a directory
    std::size_t dot = std::min(base.rfind('.'), base.size());
    if (dot <= name) dot = base.size();  // a directory's, or that of a hidden file
    const bool named = options_.format == Format::Progress;
    const std::string file = named ? name_of_recording(base.substr(0, dot), base.substr(dot))
                                   : name_of_recording(fmt::format("rsslag-{}", save_when_->pid()), ".rsslag");
    const auto kept = save_kept(file);
    if (!kept) {
        recording_failed_ = true;
        return notify(fmt::format("{}: {}", reason, kept.error().what));
    }
    ++saved_;
    saving_.emplace(Saving{kept->writer, file, Clock::now(), Clock::now()});
    const char *const last = saved_ == options_.save_limit ? "; it is the last one (--save-limit)" : "";
    notify(fmt::format("{}: saved in {}, {}{}", reason, file, past_text(*kept), last));
}

void Session::end(recording::Writer &writer, const std::string &file) {
    ending_.push_back({tracer_->end_recording(writer), file});
}

/// Finishes the recordings that have ended and are completely written.
void Session::look_at_ending() {
    while (!ending_.empty() && ending_.front().writer.progress().ended) {
        Ending &first = ending_.front();
        const Status done = first.writer.finish();
        notify(done ? written(first.writer.progress(), first.file) : done.error().what);
        recording_failed_ = recording_failed_ || !done;
        ending_.pop_front();
    }
}

/// Looks after the recordings. A failure ends `record`; `live` continues without a recording.
Status Session::look_at_recording() {
    look_at_ending();
    look_at_kept();
    look_at_condition();
    if (present_ == nullptr || (recording_failed_ && !by_key_)) return core::success();
    const recording::Writer::Progress progress = present_->progress();
    if (progress.failed) {
        recording_failed_ = true;
        if (writer_.format() == Format::Progress) return *progress.failed;
        if (by_key_) std::ignore = tracer_->end_recording(*std::exchange(present_, nullptr));
        notify(progress.failed->what);
        show_recording();
        return core::success();
    }
    if (writer_.format() == Format::Progress) show_progress(progress, false);
    if (!progress.full) return core::success();
    tracer_->next_segment(*present_);
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

/// Waits for all recordings. `peak` is that of the trace: only a recording of the whole trace contains it.
Status Session::finish_recordings(const std::optional<recording::PeakLag> &peak) {
    Status result = core::success();
    const auto finish = [&](recording::Writer &writer, const std::string &file, bool named,
                            const std::optional<recording::PeakLag> &with) {
        const Status done = writer.finish(with);
        const recording::Writer::Progress progress = writer.progress();
        if (named && done) last_lines_.push_back(written(progress, file));
        if (progress.events_lost > 0)
            last_lines_.push_back(fmt::format("the recording lacks {} events: it could not be written fast enough",
                                              progress.records_lost));
        if (result) result = done;
    };
    for (Ending &each : ending_)
        finish(each.writer, each.file, true, std::nullopt);
    if (saving_) finish(*saving_->writer, saving_->file, true, std::nullopt);
    if (present_ != nullptr) {
        const bool whole = !by_key_ && !options_.max_bytes;
        finish(*present_, file_, by_key_, whole ? peak : std::nullopt);
        if (writer_.format() == Format::Progress) show_progress(present_->progress(), true);
    }
    // Without a screen the failure has been reported when it happened.
    return recording_failed_ && !writer_.on_screen() ? core::success() : result;
}

void Session::report_recordings() {
    for (const std::string &line : last_lines_)
        terminal::print_error(line);
}

}  // namespace rsslag::session
