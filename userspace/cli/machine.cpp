// SPDX-License-Identifier: BSD-2-Clause
#include "machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace rsslag::cli {

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

Host this_host() {
    Host host;
    host.machine.page_size.bytes = sysconf(_SC_PAGESIZE);
    host.machine.cpus_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    std::string possible;
    std::getline(std::ifstream("/sys/devices/system/cpu/possible"), possible);
    const int listed = cpus_in_list(possible);
    host.machine.cpus_possible = listed > 0 ? listed : static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
    utsname name{};
    if (uname(&name) == 0) {
        host.kernel = name.release;
        host.arch = name.machine;
    }
    return host;
}

}  // namespace rsslag::cli
