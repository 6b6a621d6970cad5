// SPDX-License-Identifier: BSD-2-Clause
#include "log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "system/command.h"
#ifdef RSSLAG_HAVE_PROBE
#include "probe/libbpf_log.h"
#endif
#include "terminal/log_format.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;

Error cannot_open(const std::string &path, std::string_view reason) {
    return {Kind::Io, fmt::format("cannot open {}: {}", path, reason), 0,
            "name a file in an existing, writable directory"};
}

/// Creates the file. An existing file keeps its mode and its owner.
Status make_log_file(const std::string &path) {
    const procfs::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.open()) return core::success();  // it exists, or spdlog reports why it cannot be opened
    const auto user = system::invoking_user();
    if (!user) return user.error();
    if (!*user || fchown(file.get(), (*user)->uid, (*user)->gid) == 0) return core::success();
    return Error{Kind::Io,
                 fmt::format("cannot set the owner of {} to {}: {}", path, (*user)->name, std::strerror(errno)), errno,
                 ""};
}

}  // namespace

Status set_up_log(const LogOptions &options) {
    // spdlog would create missing directories.
    if (!options.file.empty() && access(std::filesystem::absolute(options.file).parent_path().c_str(), W_OK) != 0)
        return cannot_open(options.file, std::strerror(errno));
    if (!options.file.empty()) {
        if (Status made = make_log_file(options.file); !made) return made;
    }
    try {
        auto logger =
            options.file.empty() ? spdlog::stderr_logger_mt("rsslag") : spdlog::basic_logger_mt("rsslag", options.file);
        logger->set_formatter(terminal::log_format());
        spdlog::set_default_logger(std::move(logger));
    } catch (const spdlog::spdlog_ex &error) {
        // "Failed opening file PATH for writing: REASON"
        const std::string_view what(error.what());
        const std::size_t colon = what.rfind(": ");
        return cannot_open(options.file, colon == std::string_view::npos ? what : what.substr(colon + 2));
    }
    const spdlog::level::level_enum level = options.quiet          ? spdlog::level::err
                                            : options.verbose == 0 ? spdlog::level::warn
                                            : options.verbose == 1 ? spdlog::level::debug
                                                                   : spdlog::level::trace;
    spdlog::set_level(level);
#ifdef RSSLAG_HAVE_PROBE
    probe::log_libbpf();
#endif
    return core::success();
}

}  // namespace rsslag::cli
