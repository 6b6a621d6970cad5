// SPDX-License-Identifier: BSD-2-Clause
// The state of a StreamProbe, set up by stream.cpp and read by stream_read.cpp: skeleton, rings, mapped arrays.
#pragma once

#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "link.h"
#include "probe/stream.h"
#include "rsslag/abi.h"
#include "stream.skel.h"
#include "update_buffer.h"

namespace rsslag::probe {

struct StreamDeleter {
    void operator()(rsslag_stream *skeleton) const { rsslag_stream__destroy(skeleton); }
};
struct RingDeleter {
    void operator()(ring_buffer *ring) const { ring_buffer__free(ring); }
};

class Mapping {
  public:
    Mapping() = default;
    Mapping(int fd, std::size_t bytes, int access = PROT_READ) : bytes_(bytes) {
        void *at = mmap(nullptr, bytes, access, MAP_SHARED, fd, 0);
        at_ = at == MAP_FAILED ? nullptr : at;
    }
    ~Mapping() {
        if (at_ != nullptr) munmap(at_, bytes_);
    }
    Mapping(Mapping &&o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
    Mapping &operator=(Mapping &&o) noexcept {
        std::swap(at_, o.at_);
        std::swap(bytes_, o.bytes_);
        return *this;
    }
    void *get() const { return at_; }

  private:
    void *at_ = nullptr;
    std::size_t bytes_ = 0;
};

/// The destination of a ring's records.
struct Sink {
    std::vector<std::byte> *out = nullptr;
    UpdateBuffer *updates = nullptr;  ///< of the ring's CPU, to be merged in order; null: updates come in the ring
    /// The number of bytes that this call may still append. Without a limit, the call would not return if the ring is
    /// filled faster than it is emptied.
    std::size_t left = 0;
    std::atomic<std::uint64_t> *malformed = nullptr;
};

/// libbpf's callback: appends one record to the Sink at `to`.
int append_record(void *to, void *data, std::size_t size);

/// The destination of samples.
struct SampleSink {
    std::vector<std::byte> *out = nullptr;
    std::size_t left = 0;  ///< as Sink::left
};
/// libbpf's callback: appends one sample to the SampleSink at `to`.
int append_sample(void *to, void *data, std::size_t size);

struct StreamProbe::State {
    std::unique_ptr<rsslag_stream, StreamDeleter> skeleton;
    std::vector<int> ring_fds;
    std::vector<std::unique_ptr<ring_buffer, RingDeleter>> rings;
    std::size_t ring_bytes = 0;
    std::vector<Sink> sinks;  ///< by ring; libbpf keeps their addresses
    std::vector<Link> links;
    std::vector<std::string> missing;
    std::atomic<std::uint64_t> malformed = 0;
    mutable std::map<bpf_program *, std::uint64_t> recursion;  ///< recursion_misses as last read
    mutable std::uint64_t unreadable = 0;                      ///< failed reads of recursion_misses
    std::unique_ptr<ring_buffer, RingDeleter> sample_ring;     ///< null: no samples
    std::size_t sample_ring_bytes = 0;
    SampleSink sample_sink;
    Mapping stack_sizes;  ///< rsslag_sample's sizes by TID; unmapped without samples
    Mapping cpu_states;
    Mapping slots;
    Mapping ends;
    Mapping updates;
    std::vector<UpdateBuffer> update_buffers;  ///< by ring; empty: updates come in the rings
    std::size_t update_places = 0;             ///< slots in each buffer; 0: there are no buffers
    Mapping runs;                              ///< the CPUs' sums; unmapped unless Options::counting
    std::vector<rsslag_sum> grown;
    std::vector<std::uint32_t> emitted_sequence;  ///< by CPU: rsslag_run.sequence of the sum last appended
    std::uint32_t fault_mask = 0;
    int cpus = 1;

    ~State() {
        links.clear();
        rings.clear();
        sample_ring.reset();
        for (const int fd : ring_fds)
            close(fd);
    }

    void choose(const KernelTraits &traits, core::Scheme scheme, bool counting, bool sampling);
    core::Status load(const Options &options);
    core::Status make_rings(std::uint32_t bytes, std::uint32_t count);
    core::Status hand_over_rings();
    core::Status learn(core::Scheme scheme);
    core::Result<std::uint32_t> run(const bpf_program *program, int host_tgid, std::uint64_t mm) const;
    core::Status attach();
    std::vector<bpf_program *> programs() const;
    void read_sums();
    core::Status map_updates();
    std::span<const rsslag_cpu> cpu_list() const {
        return {static_cast<const rsslag_cpu *>(cpu_states.get()), static_cast<std::size_t>(cpus)};
    }
};

}  // namespace rsslag::probe
