// SPDX-License-Identifier: BSD-2-Clause
#include "fuzz.h"
#include "procfs/memory_map.h"

using rsslag::fuzz::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto mounts = rsslag::procfs::parse_mountinfo(rsslag::fuzz::as_text(data, size));
    if (!mounts) {
        rsslag::fuzz::require_said(mounts.error());
        return 0;
    }
    rsslag::procfs::Devices devices;
    devices.add(*mounts);
    for (const auto &mount : *mounts) {
        require(!mount.type.empty() && mount.device.find(':') != std::string::npos);
        require(devices.tmpfs.contains(mount.device) || devices.others.contains(mount.device));
    }
    return 0;
}
