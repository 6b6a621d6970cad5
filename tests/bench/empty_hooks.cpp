// SPDX-License-Identifier: BSD-2-Clause
// The lower limit of the cost of tracing: empty programs on the hooks of every page fault and counter update. No tracer
// that uses these hooks can cost less. Their cost is subtracted from that of rsslag's programs. Prints `ready` once the
// programs are attached, and ends at the end of stdin.
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "hooks.skel.h"

namespace {

struct SkeletonDeleter {
    void operator()(rsslag_hooks *skeleton) const { rsslag_hooks__destroy(skeleton); }
};

int fail(const char *what, int err) {
    (void)std::fprintf(stderr, "empty_hooks: %s: %s\n", what, std::strerror(err));
    return 1;
}

}  // namespace

int main() {
    const std::unique_ptr<rsslag_hooks, SkeletonDeleter> skeleton(rsslag_hooks__open());
    if (!skeleton) return fail("opening", errno);
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        bpf_program__set_autoload(program, false);
    }
    for (bpf_program *requested :
         {skeleton->progs.rss_stat, skeleton->progs.page_fault_user, skeleton->progs.page_fault_kernel})
        bpf_program__set_autoload(requested, true);
    if (const int err = rsslag_hooks__load(skeleton.get()); err != 0) return fail("loading", -err);
    if (const int err = rsslag_hooks__attach(skeleton.get()); err != 0) return fail("attaching", -err);
    (void)std::puts("ready");
    (void)std::fflush(stdout);
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1) {
    }
    return 0;
}
