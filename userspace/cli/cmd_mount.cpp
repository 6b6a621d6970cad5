// SPDX-License-Identifier: BSD-2-Clause
// rsslag mount and umount: exact RSS as files that any user may read, without a daemon.
#include <memory>
#include <optional>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "system/mount.h"
#include "system/targets.h"

namespace rsslag::cli {
namespace {

constexpr const char *kDirectory = "/run/rsslag";

struct Typed {
    std::string directory = kDirectory;
    std::optional<std::string> mode, group;
};

core::Error bad(const std::string &what, const std::string &remedy) {
    return {core::Kind::BadInput, what, 0, remedy};
}

/// An octal mode of read permissions only, as the files cannot be written.
std::optional<mode_t> read_mode(const std::string &text) {
    if (text.empty() || text.size() > 4 || text.find_first_not_of("04") != std::string::npos) return std::nullopt;
    const auto mode = static_cast<mode_t>(std::stoul(text, nullptr, 8));
    return mode == 0444 || mode == 0440 || mode == 0400 ? std::optional(mode) : std::nullopt;
}

core::Result<system::MountOptions> options_of(const Typed &typed) {
    system::MountOptions options{typed.directory};
    if (typed.group) {
        const auto group = system::parse_group(*typed.group);
        if (!group) return group.error();
        options.group = *group;
        options.mode = 0440;
    }
    if (!typed.mode) return options;
    const auto mode = read_mode(*typed.mode);
    if (!mode) return bad("--mode '" + *typed.mode + "' is not a read-only mode", "use 0444, 0440 or 0400");
    options.mode = *mode;
    return options;
}

int ended(const core::Status &status) {
    return status ? kDone : fail(status.error());
}

}  // namespace

Run add_mount(CLI::App &app, const Common &common) {
    auto typed = std::make_shared<Typed>();
    CLI::App *const command =
        app.add_subcommand("mount", "Create files that show the exact RSS to any user, until umount");
    command->add_option("DIR", typed->directory, "The mount point: an empty directory, or a new one")
        ->capture_default_str()
        ->check(path);
    // Not a std::optional as the variable: CLI11 makes an empty value nullopt, and the value from a shell variable may
    // be empty by mistake.
    command->add_option_function<std::string>(
        "--mode", [typed](const std::string &mode) { typed->mode = mode; },
        "Octal mode of the files; default: 0444, with --group 0440");
    command->add_option_function<std::string>(
        "--group", [typed](const std::string &group) { typed->group = group; },
        "Group of the files, by name or number; the default mode is then 0440");
    return [typed, &common] {
        if (!common.command.empty()) return fail(bad("mount takes no -- CMD", "remove -- CMD"));
        const auto options = options_of(*typed);
        return options ? ended(system::mount_files(*options)) : fail(options.error());
    };
}

Run add_umount(CLI::App &app, const Common &common) {
    auto directory = std::make_shared<std::string>(kDirectory);
    CLI::App *const command = app.add_subcommand("umount", "Remove the files of mount, and their BPF programs");
    command->add_option("DIR", *directory, "The mount point")->capture_default_str()->check(path);
    return [directory, &common] {
        if (!common.command.empty()) return fail(bad("umount takes no -- CMD", "remove -- CMD"));
        return ended(system::unmount_files(*directory));
    };
}

}  // namespace rsslag::cli
