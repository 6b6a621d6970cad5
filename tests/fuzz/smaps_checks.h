// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "fuzz.h"
#include "procfs/files.h"

namespace rsslag::fuzz {

/// No sum is negative.
inline void require_sums(const procfs::SmapsFields &f) {
    for (const auto &sum : {f.rss,
                            f.pss,
                            f.pss_dirty,
                            f.pss_anon,
                            f.pss_file,
                            f.pss_shmem,
                            f.shared_clean,
                            f.shared_dirty,
                            f.private_clean,
                            f.private_dirty,
                            f.referenced,
                            f.anonymous,
                            f.ksm,
                            f.lazy_free,
                            f.anon_huge_pages,
                            f.shmem_pmd_mapped,
                            f.file_pmd_mapped,
                            f.shared_hugetlb,
                            f.private_hugetlb,
                            f.swap,
                            f.swap_pss,
                            f.locked}) {
        require(!sum || sum->n >= 0);
    }
}

}  // namespace rsslag::fuzz
