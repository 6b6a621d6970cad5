// SPDX-License-Identifier: BSD-2-Clause
// Poisons memory of the machine, which is out of use until a reboot: for disposable virtual machines only.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <csignal>
#include <sstream>
#include <string>

#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"
#include "workload/proc_text.h"

namespace rsslag::workload {
namespace {

constexpr const char *kPermission = "rsslag.poison";
constexpr std::size_t kPages = 8, kPoisoned = 3;

bool machine_may_be_poisoned() {
    const auto line = read_text("/proc/cmdline");
    if (!line) return false;
    std::istringstream words(*line);
    for (std::string word; words >> word;) {
        if (word == kPermission) return true;
    }
    return false;
}

/// Catches SIGBUS, which the kernel sends to processes that map a dirty page when it poisons that page.
class SurvivesBusError {
  public:
    SurvivesBusError() {
        struct sigaction catching {};
        catching.sa_handler = [](int) {};
        sigaction(SIGBUS, &catching, &before_);
    }
    ~SurvivesBusError() { sigaction(SIGBUS, &before_, nullptr); }
    SurvivesBusError(const SurvivesBusError &) = delete;
    SurvivesBusError &operator=(const SurvivesBusError &) = delete;

  private:
    struct sigaction before_ {};
};

}  // namespace

Started start_hwpoison(const Options &given) {
    if (auto none = sizes(given, {}); !none) return none.error();
    if (!machine_may_be_poisoned()) {
        return unsupported("hwpoison takes memory of the machine out of use",
                           fmt::format("in a virtual machine, boot with {} on the kernel command line", kPermission));
    }
    auto memory = map_private(kPages * page_size());
    if (!memory) return memory.error();
    touch(*memory);
    const Memory poisoned = memory->first(kPoisoned * page_size());
    const SurvivesBusError survives;
    for (std::size_t i = 0; i < kPoisoned; ++i) {
        if (madvise(&poisoned[i * page_size()], page_size(), MADV_HWPOISON) != 0) {
            return failed(
                "madvise(MADV_HWPOISON)", errno,
                "run rsslag as root, on a kernel built with CONFIG_MEMORY_FAILURE=y and CONFIG_HWPOISON_INJECT");
        }
    }
    return Facts{number("touched_kb", kb_of(memory->size())), number("poisoned_pages", kPoisoned),
                 mapping_fact(*memory)};
}

}  // namespace rsslag::workload
