// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/procfs/program.h"

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

/// What stands before the names of files that a leader gives up as it exits, its threads not: exe, root, cwd, cmdline.
std::string directory_of(const Process &process) {
    struct stat executable {};
    if (fstatat(process.dir_fd(), "exe", &executable, 0) == 0 || errno != ENOENT) return "";
    const auto task = process.memory_task();
    return task ? task->directory : "";
}

/// argv[0] as it is now; programs that write their state there put a space behind their name.
std::vector<std::string> first_words(const Process &process, const std::string &directory) {
    auto opened = open_at(process.dir_fd(), (directory + "cmdline").c_str(), O_RDONLY);
    const auto *const fd = std::get_if<Fd>(&opened);
    std::string text(4096, '\0');  // a path is no longer
    const ssize_t got = fd == nullptr ? 0 : pread(fd->get(), text.data(), text.size(), 0);
    if (got <= 0) return {};
    text.resize(static_cast<std::size_t>(got));
    text.resize(std::min(text.find('\0'), text.size()));
    std::vector<std::string> words{text};
    if (const std::size_t space = text.find(' '); space != std::string::npos) words.push_back(text.substr(0, space));
    return words;
}

/// Where the process would have found `word`, as it sees paths itself.
std::vector<std::string> places_of(const Process &process, const std::string &directory, const std::string &word,
                                   const std::string &exe) {
    if (word.starts_with('/')) return {word};
    if (word.find('/') != std::string::npos) {
        auto cwd = link_target(process.dir_fd(), (directory + "cwd").c_str());
        const auto *const begin = std::get_if<std::string>(&cwd);
        if (begin == nullptr) return {};
        return {std::filesystem::path(*begin + "/" + word).lexically_normal().string()};
    }
    std::vector<std::string> places{exe.substr(0, exe.rfind('/') + 1) + word};
    for (const char *const known :
         {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
        places.push_back(known + word);
    return places;
}

/// In the process's own tree of files, whose links do not lead out of it.
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
    for (const std::string &word : first_words(process, directory)) {
        const std::string_view name = basename_of(word);
        if (name.empty() || name == basename_of(*exe)) continue;
        for (const std::string &place : places_of(process, directory, word, *exe))
            if (leads_to(std::get<Fd>(root), place, executable)) return place;
    }
    return exe;
}

bool goes_by(const Process &process, std::string_view comm, std::string_view name) {
    if (name.empty()) return false;
    if (comm == name) return true;
    const auto program = program_path(process);
    if (program) return basename_of(*program) == name;
    if (name.size() <= kCommLength || comm != name.substr(0, kCommLength)) return false;
    const std::vector<std::string> words = first_words(process, directory_of(process));
    return std::any_of(words.begin(), words.end(), [name](const auto &word) { return basename_of(word) == name; });
}

}  // namespace rsslag::procfs
