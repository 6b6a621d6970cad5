// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/pagemap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "io.h"
#include "process_errors.h"

namespace rsslag::procfs {

namespace {

constexpr int kPssShift = 12;                // fs/proc/task_mmu.c PSS_SHIFT
constexpr std::size_t kEntries = 64 * 1024;  // entries of pagemap in one read: 256 MiB of 4 KiB pages
constexpr std::size_t kRegions = 4096;       // regions of PAGEMAP_SCAN in one call
constexpr std::uint64_t kClose = 8;          // frames at most this far apart are read together

/// From include/uapi/linux/fs.h of 6.7; older headers do not have it.
struct PageRegion {
    std::uint64_t start = 0, end = 0, categories = 0;
};
struct ScanArgument {
    std::uint64_t size = sizeof(ScanArgument);
    std::uint64_t flags = 0, start = 0, end = 0, walk_end = 0, vec = 0, vec_len = 0, max_pages = 0;
    std::uint64_t category_inverted = 0, category_mask = 0, category_anyof_mask = 0, return_mask = 0;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArgument);
constexpr std::uint64_t kPresent = 1 << 3, kSwapped = 1 << 4, kZero = 1 << 5;

/// Reads 64-bit numbers from `index` on. Returns how many; fewer than requested at the end of the file.
Try<std::size_t> read_numbers(int fd, std::span<std::uint64_t> into, std::uint64_t index) {
    const std::int64_t got =
        core::read_at(fd, index * sizeof(std::uint64_t), {reinterpret_cast<char *>(into.data()), into.size_bytes()});
    if (got < 0) return Errno{static_cast<int>(-got)};
    return static_cast<std::size_t>(got) / sizeof(std::uint64_t);
}

/// hugetlb, and PFN mappings, whose frames have no struct page: Rss counts neither.
bool is_uncounted(const Mapping &mapping) {
    return mapping.has_flag("ht") || mapping.has_flag("pf");
}

void add(std::optional<core::Pages> &sum, const std::optional<core::Pages> &more) {
    if (more) sum = sum.value_or(core::Pages{}) + *more;
}

}  // namespace

std::optional<core::Kilobytes> PageCounts::pss() const {
    if (!pss_scaled) return std::nullopt;
    return core::Kilobytes{static_cast<std::int64_t>(*pss_scaled >> (10 + kPssShift))};
}

PageCounts &PageCounts::operator+=(const PageCounts &other) {
    present += other.present;
    exclusive += other.exclusive;
    shared += other.shared;
    swapped += other.swapped;
    apart += other.apart;
    add(zero, other.zero);
    add(huge, other.huge);
    add(large, other.large);
    add(ksm, other.ksm);
    for (const auto &[times, pages] : other.mapped)
        mapped[times] += pages;
    if (other.pss_scaled) pss_scaled = pss_scaled.value_or(0) + *other.pss_scaled;
    return *this;
}

std::optional<core::Pages> huge_pages(const Mapping &mapping, const core::PageSize &page_size) {
    std::optional<core::Pages> sum;
    for (const auto field :
         {&SmapsFields::anon_huge_pages, &SmapsFields::shmem_pmd_mapped, &SmapsFields::file_pmd_mapped}) {
        if (const auto &kb = mapping.fields.*field) add(sum, page_size.pages(*kb));
    }
    return sum;
}

void count_page(PageCounts &counts, PageEntry entry, const std::optional<Frame> &frame, bool uncounted,
                const core::PageSize &page_size) {
    constexpr core::Pages kOne{1};
    if (!entry.present()) {
        if (entry.swapped()) counts.swapped += kOne;
        return;
    }
    if (uncounted) {
        counts.apart += kOne;
        return;
    }
    if (!frame) {
        counts.present += kOne;
        (entry.exclusive() ? counts.exclusive : counts.shared) += kOne;
        return;
    }
    if (frame->zero()) {
        add(counts.zero, kOne);
        return;
    }
    counts.present += kOne;
    if (frame->ksm()) add(counts.ksm, kOne);
    if (frame->large()) add(counts.large, kOne);
    const std::uint64_t whole = static_cast<std::uint64_t>(page_size.bytes) << kPssShift;
    const bool shared = frame->mapped > 1;
    counts.pss_scaled = counts.pss_scaled.value_or(0) + (shared ? whole / frame->mapped : whole);
    (shared ? counts.shared : counts.exclusive) += kOne;
    if (shared) counts.mapped[frame->mapped] += kOne;
}

core::Result<std::vector<std::uint64_t>> absent_pages(const Process &process, const core::PageSize &page_size,
                                                      std::span<const std::uint64_t> addresses) {
    constexpr std::uint64_t kWindow = 512;  // entries of one read
    const auto pagemap = process.open_of_memory_task("pagemap");
    if (!pagemap) return pagemap.error();
    const auto bytes = static_cast<std::uint64_t>(page_size.bytes);
    std::array<std::uint64_t, kWindow> entries{};
    std::uint64_t first = 0, end = 0;  // pages in `entries`
    std::vector<std::uint64_t> absent;
    for (const std::uint64_t address : addresses) {
        const std::uint64_t page = address / bytes;
        if (page < first || page >= end) {
            const auto got = read_numbers(pagemap->get(), entries, page);
            if (const auto *error = std::get_if<Errno>(&got)) return failure(process.pid(), "pagemap", error->value);
            first = page;
            end = page + std::get<std::size_t>(got);
        }
        if (page >= end || !PageEntry{entries[page - first]}.present()) absent.push_back(address);
    }
    return absent;
}

struct PageReader::State {
    Fd pagemap, count, flags;
    core::PageSize page_size;
    pid_t pid = 0;
    bool scans = false;
    std::string why_no_frames;
    std::vector<std::uint64_t> entries = std::vector<std::uint64_t>(kEntries);
    std::vector<PageRegion> regions = std::vector<PageRegion>(kRegions);
    std::vector<std::uint64_t> requested, counts_read, flags_read;
    std::vector<Frame> frames;  ///< frames[i] belongs to requested[i]; `requested` is ascending

    core::Error failed(int err) const { return failure(pid, "pagemap", err); }
    std::uint64_t bytes() const { return static_cast<std::uint64_t>(page_size.bytes); }
    bool can_scan();
    bool read_frames(std::span<const std::uint64_t> some);
    Frame frame_of(PageEntry entry) const;
    core::Result<PageStop> read_range(const PageRegion &region, PageBudget &budget, const Visit &visit);
};

PageReader::PageReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageReader::~PageReader() = default;
PageReader::PageReader(PageReader &&) noexcept = default;
PageReader &PageReader::operator=(PageReader &&) noexcept = default;

bool PageReader::scans() const {
    return state_->scans;
}
const std::string &PageReader::why_no_frames() const {
    return state_->why_no_frames;
}

/// A kernel that has PAGEMAP_SCAN accepts an empty range.
bool PageReader::State::can_scan() {
    ScanArgument argument;
    argument.vec = reinterpret_cast<std::uintptr_t>(regions.data());
    argument.vec_len = regions.size();
    argument.category_anyof_mask = argument.return_mask = kPresent;
    return ioctl(pagemap.get(), kScan, &argument) >= 0;
}

core::Result<PageReader> PageReader::open(const Process &process, const core::PageSize &page_size,
                                          const std::string &root) {
    // Older kernels also open the pagemap of a leader that has exited, with nothing in it.
    auto opened = process.open_of_memory_task("pagemap");
    if (!opened) return std::move(opened).error();
    auto state = std::make_unique<State>();
    state->pagemap = *std::move(opened);
    state->page_size = page_size;
    state->pid = process.pid();
    state->scans = state->can_scan();
    for (auto [name, into] : {std::pair("kpagecount", &state->count), std::pair("kpageflags", &state->flags)}) {
        auto file = open_at(AT_FDCWD, fmt::format("{}/{}", root, name).c_str(), O_RDONLY);
        if (const auto *error = std::get_if<Errno>(&file)) {
            state->why_no_frames = fmt::format("cannot open /proc/{}: {}", name, std::strerror(error->value));
        } else {
            *into = std::move(std::get<Fd>(file));
        }
    }
    return PageReader(std::move(state));
}

/// Reads counts and flags of the present frames, sorted and in runs, as most frames of a mapping are close together.
/// False if a read fails.
bool PageReader::State::read_frames(std::span<const std::uint64_t> some) {
    requested.clear();
    for (const std::uint64_t bits : some) {
        const PageEntry entry{bits};
        if (entry.present() && entry.frame() != 0) requested.push_back(entry.frame());
    }
    std::sort(requested.begin(), requested.end());
    requested.erase(std::unique(requested.begin(), requested.end()), requested.end());
    frames.resize(requested.size());
    for (std::size_t from = 0; from < requested.size();) {
        std::size_t to = from + 1;
        while (to < requested.size() && requested[to] - requested[to - 1] <= kClose &&
               requested[to] - requested[from] < kEntries)
            ++to;
        const std::size_t span = requested[to - 1] - requested[from] + 1;
        counts_read.assign(span, 0);
        flags_read.assign(span, 0);
        const auto counted = read_numbers(count.get(), counts_read, requested[from]);
        const auto flagged = read_numbers(flags.get(), flags_read, requested[from]);
        if (std::holds_alternative<Errno>(counted) || std::holds_alternative<Errno>(flagged)) return false;
        for (; from < to; ++from) {
            const std::size_t at = requested[from] - requested[to - 1] + span - 1;
            frames[from] = {counts_read[at], flags_read[at]};
        }
    }
    return true;
}

Frame PageReader::State::frame_of(PageEntry entry) const {
    const auto at = std::lower_bound(requested.begin(), requested.end(), entry.frame());
    return frames[static_cast<std::size_t>(at - requested.begin())];
}

core::Result<PageStop> PageReader::State::read_range(const PageRegion &region, PageBudget &budget, const Visit &visit) {
    for (std::uint64_t page = region.start / bytes(); page < region.end / bytes();) {
        if (budget.entries_left == 0) return PageStop::Limit;
        if (!budget.go_on()) return PageStop::Interrupted;
        const std::size_t most = std::min<std::uint64_t>({kEntries, region.end / bytes() - page, budget.entries_left});
        const std::span<std::uint64_t> some(entries.data(), most);
        const auto got = read_numbers(pagemap.get(), some, page);
        if (const auto *error = std::get_if<Errno>(&got)) return failed(error->value);
        // The process has exited, or the range is beyond the end of the address space, as [vsyscall] is.
        if (std::get<std::size_t>(got) < most) return failed(ESRCH);
        budget.entries_left -= most;
        budget.entries_read += most;
        const bool hidden = std::ranges::any_of(
            some, [](std::uint64_t bits) { return PageEntry{bits}.present() && PageEntry{bits}.frame() == 0; });
        if (hidden && why_no_frames.empty()) why_no_frames = "reading frame numbers requires CAP_SYS_ADMIN";
        if (why_no_frames.empty() && !read_frames(some))
            why_no_frames = "cannot read /proc/kpagecount and /proc/kpageflags";
        for (std::size_t i = 0; i < most; ++i) {
            const PageEntry entry{some[i]};
            if (!entry.present() && !entry.swapped()) continue;
            Page seen{(page + i) * bytes(), entry, std::nullopt, (region.categories & kZero) != 0};
            if (why_no_frames.empty() && entry.present()) seen.frame = frame_of(entry);
            visit(seen);
        }
        page += most;
    }
    return PageStop::Done;
}

core::Result<PageStop> PageReader::visit(std::uint64_t start, std::uint64_t end, PageBudget &budget,
                                         const Visit &visit) {
    if (!state_->scans) return state_->read_range({start, end, 0}, budget, visit);
    for (std::uint64_t at = start; at < end;) {
        ScanArgument argument;
        argument.start = at;
        argument.end = end;
        argument.vec = reinterpret_cast<std::uintptr_t>(state_->regions.data());
        argument.vec_len = state_->regions.size();
        argument.category_anyof_mask = kPresent | kSwapped;
        argument.return_mask = kPresent | kSwapped | kZero;
        const int found = ioctl(state_->pagemap.get(), kScan, &argument);
        if (found < 0 && errno == EINTR) continue;
        if (found < 0) return state_->failed(errno);
        for (int i = 0; i < found; ++i) {
            auto stop = state_->read_range(state_->regions[static_cast<std::size_t>(i)], budget, visit);
            if (!stop || *stop != PageStop::Done) return stop;
        }
        if (argument.walk_end <= at) break;
        at = argument.walk_end;
    }
    return PageStop::Done;
}

core::Result<PageStop> PageReader::count(const Mapping &mapping, PageBudget &budget, PageCounts &counts) {
    const bool uncounted = is_uncounted(mapping);
    counts.huge = huge_pages(mapping, state_->page_size);
    if (state_->scans) counts.zero = core::Pages{};
    if (state_->why_no_frames.empty()) {
        counts.zero = counts.large = counts.ksm = core::Pages{};
        counts.pss_scaled = 0;
    }
    auto stop = visit(mapping.start, mapping.end, budget, [&](const Page &page) {
        if (!page.frame && page.zero && page.entry.present() && !uncounted) {
            add(counts.zero, core::Pages{1});
            return;
        }
        count_page(counts, page.entry, page.frame, uncounted, state_->page_size);
    });
    // The kernel may stop showing frames during the reading. Then these sums would be incomplete.
    if (!state_->why_no_frames.empty()) {
        counts.large.reset();
        counts.ksm.reset();
        counts.pss_scaled.reset();
        counts.mapped.clear();
        if (!state_->scans) counts.zero.reset();
    }
    return stop;
}

}  // namespace rsslag::procfs
