// SPDX-License-Identifier: BSD-2-Clause
#include "probe/denial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "core/fd.h"

namespace rsslag::probe {
namespace {

std::string read_file(const char *path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// "none [integrity] confidentiality" → "integrity".
std::string active_choice(const std::string &text) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']', open);
    if (open == std::string::npos || close == std::string::npos) return "";
    return text.substr(open + 1, close - open - 1);
}

int seccomp_mode() {
    const std::string status = read_file("/proc/self/status");
    constexpr std::string_view kKey = "\nSeccomp:\t";
    const std::size_t at = status.find(kKey);
    int mode = 0;
    if (at != std::string::npos) {
        const char *digits = status.data() + at + kKey.size();
        std::from_chars(digits, status.data() + status.size(), mode);
    }
    return mode;
}

/// Whether fewer than 64 descriptors are left. The feature probes of libbpf open descriptors. libbpf interprets EMFILE
/// as a missing feature.
bool few_descriptors() {
    constexpr std::size_t kEnough = 64;
    std::vector<core::Fd> spare;
    while (spare.size() < kEnough && (spare.empty() || spare.back().open()))
        spare.emplace_back(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    return !spare.back().open();
}

/// The initial user namespace maps all 2^32 − 1 ids onto themselves.
bool in_user_namespace() {
    std::istringstream map(read_file("/proc/self/uid_map"));
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    std::uint64_t length = 0;
    if (!(map >> inside >> outside >> length)) return false;
    return inside != 0 || outside != 0 || length != 4294967295U;
}

}  // namespace

std::vector<std::string> Privileges::missing() const {
    std::vector<std::string> names;
    if (cap_sys_admin) return names;
    if (!cap_bpf) names.emplace_back("CAP_BPF");
    if (!cap_perfmon) names.emplace_back("CAP_PERFMON");
    return names;
}

Privileges own_privileges() {
    Privileges result;
    const std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&cap_free)> caps(cap_get_proc(), cap_free);
    const auto effective = [&caps](cap_value_t cap) {
        cap_flag_value_t value = CAP_CLEAR;
        return caps != nullptr && cap_get_flag(caps.get(), cap, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
    };
    result.cap_bpf = effective(CAP_BPF);
    result.cap_perfmon = effective(CAP_PERFMON);
    result.cap_sys_ptrace = effective(CAP_SYS_PTRACE);
    result.cap_sys_admin = effective(CAP_SYS_ADMIN);
    result.cap_sys_resource = effective(CAP_SYS_RESOURCE);
    result.in_user_namespace = in_user_namespace();
    result.few_descriptors = few_descriptors();
    result.seccomp_mode = seccomp_mode();
    utsname name{};
    result.memlock_counts_bpf = uname(&name) == 0 && counts_bpf_as_locked(name.release);
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        result.memlock_bytes = limit.rlim_cur;
    }
    result.lockdown = active_choice(read_file("/sys/kernel/security/lockdown"));
    return result;
}

bool counts_bpf_as_locked(const std::string &release) {
    constexpr std::pair kFirstWithout{5, 11};
    std::pair<int, int> version;
    char dot = 0;
    std::istringstream text(release);
    return text >> version.first >> dot >> version.second && version < kFirstWithout;
}

std::string setcap_remedy(const std::string &binary) {
    return fmt::format(
        "run rsslag as root, or let a group you trust run it: sudo chgrp GROUP {0} && sudo chmod 750 {0} && "
        "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep {0}",
        binary);
}

core::Error explain_denial(int err, const Privileges &privileges, const std::string &binary) {
    if (err == ENFILE) {
        return {core::Kind::Denied, fmt::format("cannot load BPF programs: {}", std::strerror(err)), err,
                "close files on this machine, or raise fs.file-max"};
    }
    if (err == EMFILE || (err == EINVAL && privileges.few_descriptors)) {
        return {core::Kind::Denied, fmt::format("cannot load BPF programs: {}", std::strerror(EMFILE)), err,
                "raise the limit on open files: ulimit -n 1024"};
    }
    const std::string refused = fmt::format("cannot load BPF programs: {}", std::strerror(err));
    if (!privileges.may_bpf()) {
        return {core::Kind::Denied, fmt::format("{}: missing {}", refused, fmt::join(privileges.missing(), " and ")),
                err, setcap_remedy(binary)};
    }
    if (privileges.in_user_namespace) {
        return {core::Kind::Denied, refused + ": capabilities in a user namespace do not allow BPF", err,
                "run rsslag as root in the initial user namespace"};
    }
    if (privileges.lockdown == "confidentiality") {
        return {core::Kind::Denied, refused + ": kernel lockdown is in confidentiality mode", err,
                "boot with lockdown=integrity or lockdown=none"};
    }
    if (privileges.seccomp_mode == 2) {
        return {core::Kind::Denied, refused + ": a seccomp filter of this container or service may block it", err,
                "allow the bpf system call in this container or service, or run rsslag outside it"};
    }
    const bool limited = privileges.memlock_counts_bpf && privileges.memlock_bytes && !privileges.cap_sys_resource;
    if ((err == EPERM || err == ENOMEM) && limited) {
        return {core::Kind::Denied,
                fmt::format("{}: the limit on locked memory is {} kB", refused, *privileges.memlock_bytes / 1024), err,
                "raise it (ulimit -l unlimited) or add cap_sys_resource to the binary's capabilities"};
    }
    if (err == ENOMEM) {
        return {core::Kind::Denied, refused + ": this machine or this memory cgroup is out of memory", err,
                "raise memory.max of the cgroup, or run rsslag in another cgroup"};
    }
    return {core::Kind::Unsupported, refused, err, "run rsslag doctor to see what this kernel allows"};
}

core::Error variables_not_mapped() {
    return {core::Kind::Unsupported, "cannot map the variables of the loaded BPF programs", ENOTSUP,
            "run rsslag doctor to see what this kernel allows"};
}

std::string own_binary() {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "rsslag";
}

}  // namespace rsslag::probe
