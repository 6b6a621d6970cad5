// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/sinks/row.h"

#include <algorithm>

#include "row_fields.h"
#include "rsslag/core/text.h"

namespace rsslag::sinks {

namespace {

constexpr std::array<std::string_view, kColumns> kColumnNames{"type",
                                                              "t_ns",
                                                              "pid",
                                                              "tid",
                                                              "cpu",
                                                              "comm",
                                                              "mm",
                                                              "member",
                                                              "pages",
                                                              "cached",
                                                              "flushed",
                                                              "reason",
                                                              "fault",
                                                              "address",
                                                              "by_other",
                                                              "newborn",
                                                              "teardown",
                                                              "known",
                                                              "after",
                                                              "faults_since_flush",
                                                              "of_cpu",
                                                              "host_pid",
                                                              "host_tid",
                                                              "parent_host_tid",
                                                              "old_host_tid",
                                                              "shares_mm",
                                                              "user_faults",
                                                              "kernel_faults",
                                                              "cause",
                                                              "records",
                                                              "seq",
                                                              "time",
                                                              "state",
                                                              "tasks",
                                                              "took_us",
                                                              "stat_rss_kb",
                                                              "statm_rss_kb",
                                                              "status_rss_kb",
                                                              "status_anon_kb",
                                                              "status_file_kb",
                                                              "status_shmem_kb",
                                                              "status_swap_kb",
                                                              "status_hwm_kb",
                                                              "walked_file",
                                                              "walked_rss_kb",
                                                              "walked_pss_kb",
                                                              "walked_swap_kb",
                                                              "walk_us",
                                                              "walked_age_ms",
                                                              "flushed_file",
                                                              "flushed_anon",
                                                              "flushed_shmem",
                                                              "flushed_swap",
                                                              "flushed_rss",
                                                              "cached_file",
                                                              "cached_anon",
                                                              "cached_shmem",
                                                              "cached_swap",
                                                              "cached_rss",
                                                              "exact_file",
                                                              "exact_anon",
                                                              "exact_shmem",
                                                              "exact_swap",
                                                              "exact_rss",
                                                              "lag",
                                                              "behind",
                                                              "residual",
                                                              "verdict",
                                                              "doubtful",
                                                              "updates",
                                                              "updates_by_others",
                                                              "faults",
                                                              "flushes",
                                                              "lost",
                                                              "disagreements",
                                                              "resyncs",
                                                              "image",
                                                              "peak_min",
                                                              "peak_max",
                                                              "peak_t_ns",
                                                              "peak_tid",
                                                              "peak_lag",
                                                              "peak_lag_t_ns",
                                                              "mapping",
                                                              "from",
                                                              "to",
                                                              "perms",
                                                              "old_from",
                                                              "held_kb",
                                                              "build_id",
                                                              "to_ns",
                                                              "trace_id",
                                                              "segment",
                                                              "host",
                                                              "boot_id",
                                                              "kernel",
                                                              "scheme",
                                                              "cpus_online",
                                                              "page_size",
                                                              "start_time"};

struct TypeName {
    std::string_view operator()(const UpdateRow &row) const {
        switch (row.type) {
            case UpdateRow::Type::Update: return "update";
            case UpdateRow::Type::Flush: return "flush";
            case UpdateRow::Type::Fold: break;
        }
        return "fold";
    }
    std::string_view operator()(const FaultRow & /*row*/) const { return "fault"; }
    std::string_view operator()(const SumRow & /*row*/) const { return "sum"; }
    std::string_view operator()(const TaskRow &row) const {
        switch (row.type) {
            case TaskRow::Type::ThreadStart: return "thread_start";
            case TaskRow::Type::ThreadEnd: return "thread_end";
            case TaskRow::Type::Rename: return "rename";
            case TaskRow::Type::Exec: return "exec";
            case TaskRow::Type::Fork: return "fork";
            case TaskRow::Type::Exit: return "exit";
            case TaskRow::Type::Seen: break;
        }
        return "seen";
    }
    std::string_view operator()(const ReadingRow & /*row*/) const { return "reading"; }
    std::string_view operator()(const WalkRow & /*row*/) const { return "walk"; }
    std::string_view operator()(const MappingRow &row) const {
        switch (row.type) {
            case MappingRow::Type::Mapped: return "mapped";
            case MappingRow::Type::Moved: return "moved";
            case MappingRow::Type::Named: return "named";
            case MappingRow::Type::Listed: break;
        }
        return "listed";
    }
    std::string_view operator()(const LossRow & /*row*/) const { return "loss"; }
    std::string_view operator()(const TickRow & /*row*/) const { return "tick"; }
};

}  // namespace

const std::array<std::string_view, kColumns> &column_names() {
    return kColumnNames;
}

std::string_view type_name(const Row &row) {
    return std::visit(TypeName(), row);
}

void append_harmless(std::string &out, std::string_view raw) {
    const bool plain = std::all_of(raw.begin(), raw.end(),
                                   [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '"' && c != ','; });
    plain ? out.append(raw) : out.append(core::printable(raw));
}

}  // namespace rsslag::sinks
