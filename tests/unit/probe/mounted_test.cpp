// SPDX-License-Identifier: BSD-2-Clause
#include "probe/mounted.h"

#include <gtest/gtest.h>

namespace rsslag::probe {
namespace {

KernelTraits kernel_that_fits() {
    KernelTraits traits;
    traits.scheme = core::Scheme::Cpu;
    traits.task_iterator = traits.task_iterator_by_group = traits.loops = true;
    return traits;
}

std::string refusal_of(const KernelTraits &traits) {
    const core::Status fits = can_pin_files(traits);
    return fits ? "" : fits.error().what;
}

TEST(MountedFiles, ListOnlyWhatTheKernelLacks) {
    EXPECT_EQ(refusal_of(kernel_that_fits()), "");
    KernelTraits traits = kernel_that_fits();
    traits.task_iterator_by_group = false;
    EXPECT_TRUE(refusal_of(traits).ends_with(": it lacks the iterator's filter by task"));
    traits.loops = false;
    EXPECT_TRUE(refusal_of(traits).ends_with(
        ": it lacks the iterator's filter by task and a helper (bpf_loop or bpf_map_lookup_percpu_elem)"));
    traits = kernel_that_fits();
    traits.task_iterator = false;
    EXPECT_TRUE(refusal_of(traits).ends_with(": it lacks the BPF task iterator"));
}

}  // namespace
}  // namespace rsslag::probe
