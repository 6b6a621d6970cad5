// SPDX-License-Identifier: BSD-2-Clause
#include "core/sentence.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"

namespace rsslag::core {
namespace {

std::string in_binary_unit(Pages pages, const PageSize &page_size, double unit_bytes, std::string_view unit) {
    const double value = static_cast<double>(pages.n) * static_cast<double>(page_size.bytes) / unit_bytes;
    // Rounded in units of a tenth, so that the thousands can be grouped on the integer part.
    const auto tenths = static_cast<std::int64_t>(std::llround(std::fabs(value) * 10));
    return fmt::format("{}{}.{} {}", value < 0 && tenths != 0 ? "-" : "", with_thousands(tenths / 10), tenths % 10,
                       unit);
}

/// Which other readers show what stat shows, or which are exact.
struct OtherReaders {
    std::string with_stat;  ///< after stat's number: ", and so do ps, top and htop;"
    std::string exact;      ///< at the end: "; statm and status (ps, top, htop) are exact on this kernel"
};

OtherReaders other_readers(const Calibration &calibration) {
    const Truth statm = calibration.statm;
    const Truth status = calibration.status;
    if (statm == Truth::Flushed && status == Truth::Flushed) return {", and so do ps, top and htop;", ""};
    if (statm == Truth::Exact && status == Truth::Exact) {
        return {",", "; statm and status (ps, top, htop) are exact on this kernel"};
    }
    if (statm == Truth::Exact && status == Truth::Flushed) {
        return {", and so does ps;", "; statm (top, htop) is exact on this kernel"};
    }
    if (statm == Truth::Flushed && status == Truth::Exact) {
        return {", and so do top and htop;", "; status (ps) is exact on this kernel"};
    }
    return {",", "; it is not known whether statm and status (ps, top, htop) lag, too"};
}

std::string where(const Finding &finding, Scheme scheme) {
    const std::string_view unit = tasks_cache(scheme) ? "thread" : "CPU";
    return fmt::format("{} {}{}", finding.cachers, unit, finding.cachers == 1 ? "" : "s");
}

double percent(Pages part, Pages whole) {
    return whole.n == 0 ? 0.0 : 100.0 * static_cast<double>(part.n) / static_cast<double>(whole.n);
}

/// "24,288 kB (23.3 %) is cached in 101 threads, 94 % of the soft bound"
std::string hidden_part(const Finding &finding, Pages lag, const Machine &machine, PagesText text,
                        std::string_view mark) {
    if (lag.n < 0) {
        return fmt::format("stat is {}{} too high: the removal is cached in {}", mark, text(-lag, machine.page_size),
                           where(finding, machine.scheme));
    }
    std::string part = fmt::format("{}{} ({:.1f} %) is cached in {}", mark, text(lag, machine.page_size),
                                   percent(lag, finding.exact_rss), where(finding, machine.scheme));
    if (finding.bound.rss.n > 0) {
        part += fmt::format(", {:.0f} % of {}", percent(finding.cached.rss(), finding.bound.rss),
                            finding.bound.hard ? "what this scheme allows" : "the soft bound");
    }
    return part;
}

/// stat, statm and status of a main thread that has ended all show no memory, whatever the calibration.
std::string of_ended_leader(const Finding &finding, const Machine &machine, PagesText text, std::string_view holds) {
    std::string whole = fmt::format(
        "/proc/{}/stat says {}, and so do ps, top and htop; {}: its main thread has ended, so that its files show no "
        "memory",
        finding.pid, text(*finding.stat, machine.page_size), holds);
    const Pages lag = finding.exact_rss - clamped_rss(finding.flushed);
    const std::string_view mark = finding.verdict == Verdict::Moving ? "~" : "";
    if (lag.n > 0 && finding.cachers > 0) whole += "; " + hidden_part(finding, lag, machine, text, mark);
    return whole + ".";
}

}  // namespace

std::string as_kb(Pages pages, const PageSize &page_size) {
    return with_thousands(page_size.kb(pages).n) + " kB";
}
std::string as_mib(Pages pages, const PageSize &page_size) {
    return in_binary_unit(pages, page_size, 1024.0 * 1024.0, "MiB");
}
std::string as_gib(Pages pages, const PageSize &page_size) {
    return in_binary_unit(pages, page_size, 1024.0 * 1024.0 * 1024.0, "GiB");
}
std::string as_pages(Pages pages, const PageSize & /*page_size*/) {
    return with_thousands(pages.n) + (pages.n == 1 ? " page" : " pages");
}

std::optional<Pages> behind(const Finding &finding) {
    if (!finding.stat) return std::nullopt;
    return finding.exact_rss - *finding.stat;
}

std::string sentence(const Finding &finding, const Machine &machine, const Calibration &calibration, PagesText text) {
    const std::string approximately = finding.verdict == Verdict::Moving ? "~" : "";
    const std::string holds =
        fmt::format("this process holds {}{}", approximately, text(finding.exact_rss, machine.page_size));
    const std::optional<Pages> hidden = behind(finding);
    if (!hidden) return holds + ".";
    const std::string stat = fmt::format("/proc/{}/stat says {}", finding.pid, text(*finding.stat, machine.page_size));
    if (hidden->n == 0) {
        if (finding.cachers == 0) return fmt::format("{}, and {}: nothing is cached.", stat, holds);
        return fmt::format("{}, and {}: the amounts cached in {} add up to 0.", stat, holds,
                           where(finding, machine.scheme));
    }
    if (finding.leader_gone && finding.stat->n == 0) return of_ended_leader(finding, machine, text, holds);
    if (finding.verdict == Verdict::Moving && finding.cachers == 0) {
        return fmt::format("{}, and {}: it changed while it was read.", stat, holds);
    }
    if (finding.verdict != Verdict::Moving && *finding.stat != clamped_rss(finding.flushed)) {
        return fmt::format("{}, and {}: stat shows neither what is flushed ({}) nor what is exact.", stat, holds,
                           text(clamped_rss(finding.flushed), machine.page_size));
    }
    const OtherReaders others = other_readers(calibration);
    const Pages lag = finding.exact_rss - clamped_rss(finding.flushed);
    return fmt::format("{}{} {}: {}{}.", stat, others.with_stat, holds,
                       hidden_part(finding, lag, machine, text, approximately), others.exact);
}

}  // namespace rsslag::core
