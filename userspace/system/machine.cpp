// SPDX-License-Identifier: BSD-2-Clause
#include "system/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace rsslag::system {

int cpus_in_list(std::string_view list) {
    constexpr int kMost = 1 << 20;  // far beyond any kernel's NR_CPUS
    list = list.substr(0, list.find('\n'));
    int highest = -1;
    const char *at = list.data();
    const char *const end = at + list.size();
    while (at < end) {
        int cpu = 0;
        const auto [after, error] = std::from_chars(at, end, cpu);
        if (error != std::errc{} || cpu < 0 || cpu > kMost) return 0;
        highest = std::max(highest, cpu);
        at = after;
        if (at == end) break;
        if ((*at != '-' && *at != ',') || ++at == end) return 0;
    }
    return highest + 1;
}

namespace {

/// cpus_in_list() of a file in /sys/devices/system/cpu.
int cpus_listed(const char *list) {
    std::string cpus;
    std::getline(std::ifstream(std::filesystem::path("/sys/devices/system/cpu") / list), cpus);
    return cpus_in_list(cpus);
}

}  // namespace

std::string kernel_uuid(const std::string &name) {
    std::ifstream file("/proc/sys/kernel/random/" + name);
    std::string uuid;
    std::getline(file, uuid);
    return uuid;
}

std::uint32_t folio_orders(const std::string &directory, std::int64_t page_bytes) {
    const auto chosen = [](const std::filesystem::path &file) {
        std::string text;
        std::getline(std::ifstream(file), text);
        const std::size_t begin = text.find('[');
        const std::size_t end = text.find(']');
        if (begin == std::string::npos || end == std::string::npos || end < begin) return std::string();
        return text.substr(begin + 1, end - begin - 1);
    };
    const auto order_of = [page_bytes](std::int64_t bytes) {
        int order = 0;
        while (order < 31 && page_bytes << order < bytes)
            ++order;
        return order;
    };
    std::uint32_t orders = 1;
    const std::string all = chosen(std::filesystem::path(directory) / "enabled");
    if (all.empty()) return orders;  // kernel without CONFIG_TRANSPARENT_HUGEPAGE
    std::error_code none;
    bool sizes = false;
    for (const auto &entry : std::filesystem::directory_iterator(directory, none)) {
        // hugepages-64kB, from 6.8 (19eaf44954df)
        const std::string name = entry.path().filename().string();
        std::int64_t kilobytes = 0;
        if (name.rfind("hugepages-", 0) != 0) continue;
        std::from_chars(name.data() + 10, name.data() + name.size(), kilobytes);
        std::string mode = chosen(entry.path() / "enabled");
        if (mode == "inherit") mode = all;
        sizes = true;
        if (mode != "never") orders |= 1U << order_of(kilobytes * 1024);
    }
    if (!sizes && all != "never") {
        std::int64_t bytes = 0;
        std::ifstream(std::filesystem::path(directory) / "hpage_pmd_size") >> bytes;
        orders |= 1U << order_of(bytes > 0 ? bytes : std::int64_t{2} << 20);
    }
    return orders;
}

int cpus_online() {
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

Host this_host() {
    Host host;
    host.machine.page_size.bytes = sysconf(_SC_PAGESIZE);
    host.machine.cpus_online = cpus_online();
    const int listed = cpus_listed("possible");
    host.machine.cpus_possible = listed > 0 ? listed : static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
    host.machine.cpus_present = std::max(cpus_listed("present"), host.machine.cpus_online);
    host.machine.anon_orders = folio_orders("/sys/kernel/mm/transparent_hugepage", host.machine.page_size.bytes);
    utsname name{};
    if (uname(&name) == 0) {
        host.kernel = name.release;
        host.arch = name.machine;
    }
    return host;
}

}  // namespace rsslag::system
