// SPDX-License-Identifier: BSD-2-Clause
#include "log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "rsslag/core/text.h"
#include "rsslag/host/command.h"
#include "style.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

class HarmlessText final : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg &message, const std::tm & /*time*/, spdlog::memory_buf_t &out) override {
        const std::string text =
            core::harmless(std::string_view(message.payload.data(), message.payload.size()), locale_is_utf8());
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<HarmlessText>(); }
};

/// One that is there already keeps its mode and its owner.
Status make_log_file(const std::string &path) {
    const procfs::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.open()) return core::success();  // whoever opens it says why it cannot be
    const auto user = host::invoking_user();
    if (!user) return user.error();
    if (!*user || fchown(file.get(), (*user)->uid, (*user)->gid) == 0) return core::success();
    return Error{Kind::Io, fmt::format("the log file {} cannot be given to {}", path, (*user)->name), errno, ""};
}

}  // namespace

std::unique_ptr<spdlog::formatter> log_format() {
    auto format = std::make_unique<spdlog::pattern_formatter>();
    format->add_flag<HarmlessText>('*').set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%l] %*");
    return format;
}

Status set_up_log(const LogOptions &options) {
    // spdlog would make the directories that are missing.
    if (!options.file.empty() && access(std::filesystem::absolute(options.file).parent_path().c_str(), W_OK) != 0) {
        return Error{Kind::Io, fmt::format("the log file {} cannot be opened", options.file), 0,
                     "name a file in a directory that exists and may be written"};
    }
    if (!options.file.empty()) {
        if (Status made = make_log_file(options.file); !made) return made;
    }
    try {
        auto logger =
            options.file.empty() ? spdlog::stderr_logger_mt("rsslag") : spdlog::basic_logger_mt("rsslag", options.file);
        logger->set_formatter(log_format());
        spdlog::set_default_logger(std::move(logger));
    } catch (const spdlog::spdlog_ex &error) {
        return Error{Kind::Io, fmt::format("the log file cannot be opened: {}", error.what()), 0, ""};
    }
    const spdlog::level::level_enum level = options.quiet          ? spdlog::level::err
                                            : options.verbose == 0 ? spdlog::level::warn
                                            : options.verbose == 1 ? spdlog::level::debug
                                                                   : spdlog::level::trace;
    spdlog::set_level(level);
    return core::success();
}

}  // namespace rsslag::cli
