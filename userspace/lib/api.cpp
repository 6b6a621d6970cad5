// SPDX-License-Identifier: BSD-2-Clause
// The C functions of rsslag.h. They throw nothing, and write nothing beyond the `size` of a caller's structure.
#include <rsslag.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "handle.h"

struct rsslag_handle {
    rsslag::lib::Handle handle;
};

struct rsslag_list {
    std::vector<rsslag_reading> readings;
    std::size_t unreadable = 0;
};

namespace {

using rsslag::core::Kind;
using rsslag::lib::Failure;
using rsslag::lib::Reading;
using rsslag::lib::Way;

static_assert(static_cast<int>(Way::Bpf) == RSSLAG_WAY_BPF && static_cast<int>(Way::File) == RSSLAG_WAY_FILE);
static_assert(static_cast<int>(Way::Status) == RSSLAG_WAY_STATUS && static_cast<int>(Way::Rollup) == RSSLAG_WAY_ROLLUP);

// Sizes of the structures in the first version: a caller's `size` is at least this.
constexpr std::uint32_t kFirstReading = offsetof(rsslag_reading, comm) + sizeof(rsslag_reading::comm);
constexpr std::uint32_t kFirstError = offsetof(rsslag_error, remedy) + sizeof(rsslag_error::remedy);
constexpr std::uint32_t kFirstOptions = offsetof(rsslag_options, directory) + sizeof(rsslag_options::directory);

constexpr const char *kNoSize = "initialise it with the _INIT macro of rsslag.h";

int status_of(const Failure &failure) {
    if (failure.no_memory) return RSSLAG_ERROR_NO_MEMORY;
    switch (failure.error.kind) {
        case Kind::BadInput: return RSSLAG_ERROR_ARGUMENT;
        case Kind::Denied: return RSSLAG_ERROR_DENIED;
        case Kind::Unsupported: return RSSLAG_ERROR_UNSUPPORTED;
        case Kind::Gone: return RSSLAG_ERROR_GONE;
        case Kind::Corrupt:
        case Kind::Io: return RSSLAG_ERROR_IO;
        case Kind::Internal: break;
    }
    return RSSLAG_ERROR_INTERNAL;
}

/// Copies as much as the caller's structure has. Fields of a newer caller that this version does not have become 0.
template <class T>
void copy_out(const T &value, T *to) {
    const std::uint32_t size = to->size;
    std::memcpy(to, &value, std::min<std::size_t>(size, sizeof(T)));
    if (size > sizeof(T)) std::memset(reinterpret_cast<char *>(to) + sizeof(T), 0, size - sizeof(T));
    to->size = size;
}

/// Truncates `text` if it does not fit.
template <std::size_t kSize>
void copy_text(std::string_view text, char (&to)[kSize]) {
    const std::size_t length = std::min(text.size(), kSize - 1);
    std::copy_n(text.data(), length, to);
    to[length] = '\0';
}

int fail(const Failure &failure, rsslag_error *to) noexcept {
    const int status = status_of(failure);
    if (to == nullptr || to->size < kFirstError) return status;
    rsslag_error error{};
    error.status = status;
    error.err = failure.error.err;
    copy_text(failure.error.what, error.what);
    copy_text(failure.error.remedy, error.remedy);
    copy_out(error, to);
    return status;
}

/// Without a std::string, for which there may be no memory.
int fail_with(int status, std::string_view what, std::string_view remedy, rsslag_error *to) noexcept {
    if (to == nullptr || to->size < kFirstError) return status;
    rsslag_error error{};
    error.status = status;
    copy_text(what, error.what);
    copy_text(remedy, error.remedy);
    copy_out(error, to);
    return status;
}

int refuse(const char *what, const char *remedy, rsslag_error *to) noexcept {
    return fail_with(RSSLAG_ERROR_ARGUMENT, what, remedy, to);
}

/// Turns an exception into a status: memory is exhausted, or the library has a bug.
template <class Body>
int guarded(rsslag_error *to, const Body &body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail_with(RSSLAG_ERROR_INTERNAL, "out of memory", "", to);
    } catch (const std::exception &thrown) {
        return fail_with(RSSLAG_ERROR_INTERNAL, thrown.what(), "", to);
    } catch (...) {
        return RSSLAG_ERROR_INTERNAL;
    }
}

rsslag_members members(const rsslag::core::Members &from) {
    std::array<std::int64_t, rsslag::core::kMembers> numbers{};  // the structure has the same order
    std::transform(rsslag::core::kMembersInOrder.begin(), rsslag::core::kMembersInOrder.end(), numbers.begin(),
                   [&](rsslag::core::Member member) { return from[member].n; });
    return std::bit_cast<rsslag_members>(numbers);
}

std::uint32_t scheme_number(std::optional<rsslag::core::Scheme> scheme) {
    if (!scheme) return RSSLAG_SCHEME_UNKNOWN;
    switch (*scheme) {
        case rsslag::core::Scheme::Thread: return RSSLAG_SCHEME_THREAD;
        case rsslag::core::Scheme::Cpu: return RSSLAG_SCHEME_CPU;
        case rsslag::core::Scheme::Plain: break;
    }
    return RSSLAG_SCHEME_PLAIN;
}

/// The fields that every way provides, and the marks.
rsslag_reading new_reading(const rsslag::lib::Handle &handle, const Reading &from) {
    rsslag_reading to{};
    to.pid = from.pid;
    to.way = static_cast<std::uint32_t>(from.way);
    to.scheme = scheme_number(handle.scheme());
    to.page_size = handle.page_size().bytes;
    to.rss = from.rss.n;
    to.took_ns = from.took_ns;
    if (from.moved) to.marks |= RSSLAG_MARK_MOVED;
    if (from.foreign) to.marks |= RSSLAG_MARK_FOREIGN;
    copy_text(from.comm, to.comm);
    return to;
}

void set(rsslag_reading &to, std::int64_t &field, std::optional<std::int64_t> value, std::uint32_t known) {
    if (!value) return;
    field = *value;
    to.known |= known;
}

std::optional<std::int64_t> number(const std::optional<rsslag::core::Pages> &pages) {
    return pages ? std::optional(pages->n) : std::nullopt;
}

rsslag_reading c_reading(const rsslag::lib::Handle &handle, const Reading &from) {
    rsslag_reading to = new_reading(handle, from);
    if (from.exact) {
        to.exact = members(*from.exact);
        to.known |= RSSLAG_KNOWN_MEMBERS;
    }
    if (from.exact && from.cached) {
        to.cached = members(*from.cached);
        to.flushed = members(*from.exact - *from.cached);
        to.known |= RSSLAG_KNOWN_FLUSHED;
    }
    set(to, to.exact.swap, number(from.swap), RSSLAG_KNOWN_SWAP);
    set(to, to.cached_rss, number(from.cached_rss), RSSLAG_KNOWN_CACHED);
    set(to, to.lag, number(from.lag), RSSLAG_KNOWN_LAG);
    set(to, to.threads, from.threads, RSSLAG_KNOWN_THREADS);
    if (const auto bound = handle.bound(from)) {
        to.bound = members(bound->members);
        set(to, to.bound_rss, bound->rss.n, RSSLAG_KNOWN_BOUND);
        if (bound->hard) to.marks |= RSSLAG_MARK_HARD_BOUND;
    }
    return to;
}

template <class Read>
int read_one(rsslag_handle *handle, rsslag_reading *to, rsslag_error *error, const Read &read) noexcept {
    if (handle == nullptr || to == nullptr) return refuse("handle and reading must not be NULL", "", error);
    if (to->size < kFirstReading) return refuse("struct rsslag_reading has an invalid size", kNoSize, error);
    return guarded(error, [&] {
        const auto outcome = read(handle->handle);
        if (const auto *const failure = std::get_if<Failure>(&outcome)) return fail(*failure, error);
        copy_out(c_reading(handle->handle, std::get<Reading>(outcome)), to);
        return static_cast<int>(RSSLAG_OK);
    });
}

/// Checks the fields of the first version; this version has no others.
int check(const rsslag_options *options, rsslag_error *error) {
    if (options == nullptr) return RSSLAG_OK;
    if (options->size < kFirstOptions) return refuse("struct rsslag_options has an invalid size", kNoSize, error);
    if ((options->ways & ~rsslag::lib::kAllWays) != 0)
        return refuse("`ways` has a bit that enum rsslag_way does not have", "combine values of enum rsslag_way by |",
                      error);
    return RSSLAG_OK;
}

}  // namespace

extern "C" {

int rsslag_open(const rsslag_options *options, rsslag_handle **handle, rsslag_error *error) {
    if (handle == nullptr) return refuse("handle must not be NULL", "", error);
    *handle = nullptr;
    if (const int checked = check(options, error); checked != RSSLAG_OK) return checked;
    return guarded(error, [&] {
        const std::uint32_t ways = options != nullptr && options->ways != 0 ? options->ways : rsslag::lib::kAllWays;
        const char *const directory = options != nullptr ? options->directory : nullptr;
        *handle = new rsslag_handle{{ways, directory != nullptr ? directory : "/run/rsslag"}};
        return static_cast<int>(RSSLAG_OK);
    });
}

void rsslag_close(rsslag_handle *handle) {
    delete handle;
}

int rsslag_why_not(rsslag_handle *handle, uint32_t way, rsslag_error *error) {
    if (handle == nullptr) return refuse("handle must not be NULL", "", error);
    if ((way & ~rsslag::lib::kAllWays) != 0 || way == 0 || (way & (way - 1)) != 0)
        return refuse("way is not a single value of enum rsslag_way", "", error);
    return guarded(error, [&] {
        const auto usable = handle->handle.why_not(static_cast<Way>(way));
        return usable ? static_cast<int>(RSSLAG_OK) : fail({usable.error()}, error);
    });
}

int rsslag_exact(rsslag_handle *handle, int pid, rsslag_reading *reading, rsslag_error *error) {
    return read_one(handle, reading, error, [pid](rsslag::lib::Handle &of) { return of.exact(pid); });
}

int rsslag_exact_self(rsslag_handle *handle, rsslag_reading *reading, rsslag_error *error) {
    return read_one(handle, reading, error, [](rsslag::lib::Handle &of) { return of.exact_self(); });
}

int rsslag_all(rsslag_handle *handle, rsslag_list **list, rsslag_error *error) {
    if (handle == nullptr || list == nullptr) return refuse("handle and list must not be NULL", "", error);
    *list = nullptr;
    return guarded(error, [&] {
        const auto outcome = handle->handle.all();
        if (const auto *const failure = std::get_if<Failure>(&outcome)) return fail(*failure, error);
        const auto &all = std::get<rsslag::lib::Readings>(outcome);
        auto made = std::make_unique<rsslag_list>();
        made->unreadable = all.unreadable;
        for (const Reading &reading : all.readings)
            made->readings.push_back(c_reading(handle->handle, reading));
        std::sort(made->readings.begin(), made->readings.end(),
                  [](const auto &a, const auto &b) { return a.pid < b.pid; });
        *list = made.release();
        return static_cast<int>(RSSLAG_OK);
    });
}

size_t rsslag_list_count(const rsslag_list *list) {
    return list == nullptr ? 0 : list->readings.size();
}

size_t rsslag_list_unreadable(const rsslag_list *list) {
    return list == nullptr ? 0 : list->unreadable;
}

int rsslag_list_get(const rsslag_list *list, size_t index, rsslag_reading *reading, rsslag_error *error) {
    if (list == nullptr || reading == nullptr) return refuse("list and reading must not be NULL", "", error);
    if (reading->size < kFirstReading) return refuse("struct rsslag_reading has an invalid size", kNoSize, error);
    if (index >= list->readings.size())
        return refuse("index is beyond the end of the list", "rsslag_list_count() returns its length", error);
    copy_out(list->readings[index], reading);
    return RSSLAG_OK;
}

void rsslag_list_free(rsslag_list *list) {
    delete list;
}

const char *rsslag_way_name(uint32_t way) {
    switch (way) {
        case RSSLAG_WAY_BPF:
        case RSSLAG_WAY_FILE:
        case RSSLAG_WAY_STATUS:
        case RSSLAG_WAY_ROLLUP: return name(static_cast<Way>(way));
        default: return "unknown";
    }
}

const char *rsslag_scheme_name(uint32_t scheme) {
    switch (scheme) {
        case RSSLAG_SCHEME_THREAD: return "thread";
        case RSSLAG_SCHEME_CPU: return "cpu";
        case RSSLAG_SCHEME_PLAIN: return "plain";
        default: return "unknown";
    }
}

const char *rsslag_version(void) {
    return RSSLAG_VERSION;
}
}
