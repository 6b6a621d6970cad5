// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/program.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "io.h"

namespace rsslag::procfs {
namespace {

/// TASK_COMM_LEN without the NUL (include/linux/sched.h).
constexpr std::size_t kCommLength = 15;

std::string_view basename_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// The prefix for exe, root, cwd and cmdline. A leader that has exited does not have these files any more; its threads
/// have them.
std::string directory_of(const Process &process) {
    struct stat executable {};
    if (fstatat(process.dir_fd(), "exe", &executable, 0) == 0 || errno != ENOENT) return "";
    const auto task = process.memory_task();
    return task ? task->directory : "";
}

/// argv[0] as it is now, and the part before its first space: some programs write their name and state there.
std::vector<std::string> names_in_argv0(const Process &process, const std::string &directory) {
    auto opened = open_at(process.dir_fd(), (directory + "cmdline").c_str(), O_RDONLY);
    const auto *const fd = std::get_if<Fd>(&opened);
    std::string text(4096, '\0');  // PATH_MAX
    const ssize_t got = fd == nullptr ? 0 : pread(fd->get(), text.data(), text.size(), 0);
    if (got <= 0) return {};
    text.resize(static_cast<std::size_t>(got));
    text.resize(std::min(text.find('\0'), text.size()));
    std::vector<std::string> names{text};
    if (const std::size_t space = text.find(' '); space != std::string::npos) names.push_back(text.substr(0, space));
    return names;
}

/// Paths, in the process's own file tree, under which it may have been started as `name`.
std::vector<std::string> candidates(const Process &process, const std::string &directory, const std::string &name,
                                    const std::string &exe) {
    if (name.starts_with('/')) return {name};
    if (name.find('/') != std::string::npos) {
        auto cwd = link_target(process.dir_fd(), (directory + "cwd").c_str());
        const auto *const directory_path = std::get_if<std::string>(&cwd);
        if (directory_path == nullptr) return {};
        return {std::filesystem::path(*directory_path + "/" + name).lexically_normal().string()};
    }
    std::vector<std::string> paths{exe.substr(0, exe.rfind('/') + 1) + name};
    for (const char *const known :
         {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
        paths.push_back(known + name);
    return paths;
}

/// Whether `path` below `root` is the executable. RESOLVE_IN_ROOT: links cannot lead out of the process's own tree.
bool leads_to(const Fd &root, const std::string &path, const struct stat &executable) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const Fd file(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
    struct stat found {};
    return file.open() && fstat(file.get(), &found) == 0 && found.st_dev == executable.st_dev &&
           found.st_ino == executable.st_ino;
}

}  // namespace

core::Result<std::string> program_path(const Process &process) {
    auto exe = process.exe();
    if (!exe || exe->empty()) return exe;
    struct stat executable {};
    const std::string directory = directory_of(process);
    auto root = open_at(process.dir_fd(), (directory + "root").c_str(), O_PATH | O_DIRECTORY);
    const bool found = fstatat(process.dir_fd(), (directory + "exe").c_str(), &executable, 0) == 0;
    if (!found || !std::holds_alternative<Fd>(root)) return exe;
    for (const std::string &name : names_in_argv0(process, directory)) {
        const std::string_view base = basename_of(name);
        if (base.empty() || base == basename_of(*exe)) continue;
        for (const std::string &path : candidates(process, directory, name, *exe))
            if (leads_to(std::get<Fd>(root), path, executable)) return path;
    }
    return exe;
}

std::string command_line(const Process &process) {
    auto text = process.read_of_memory_task("cmdline");
    if (!text) return "";
    std::string arguments = std::move(text->bytes);
    while (!arguments.empty() && arguments.back() == '\0')
        arguments.pop_back();
    std::replace(arguments.begin(), arguments.end(), '\0', ' ');
    return arguments;
}

bool has_name(const Process &process, std::string_view comm, std::string_view name) {
    if (name.empty()) return false;
    if (comm == name) return true;
    const auto program = program_path(process);
    if (program) return basename_of(*program) == name;
    if (name.size() <= kCommLength || comm != name.substr(0, kCommLength)) return false;
    const std::vector<std::string> names = names_in_argv0(process, directory_of(process));
    return std::any_of(names.begin(), names.end(), [name](const auto &each) { return basename_of(each) == name; });
}

}  // namespace rsslag::procfs
