// SPDX-License-Identifier: BSD-2-Clause
// Files of version 1 have no events, but calls of a tracer and the answers that it got to the questions it asked. What
// it asked in which order is known here, and nowhere else; frozen, as no such file is written any more.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "bytes.h"
#include "rsslag/core/event.h"
#include "rsslag/recording/header.h"

namespace rsslag::recording {

class Version1 {
  public:
    explicit Version1(const Header &header);

    using Events = std::deque<event::Event>;
    /// The next item; body.bad(): it cannot be understood.
    void take(std::uint64_t kind, ByteReader &body, std::uint64_t base_ns, Events &out);
    /// What comes next is not what came next: of what was begun records are left.
    void break_off(Events &out);
    /// Nothing more comes.
    void finish(Events &out);

  private:
    enum class Ask : std::uint8_t {
        Attach = 1,
        AttachAtExec = 2,
        AttachMatching = 3,
        Collect = 4,
        Tick = 5,
        WalkNow = 6,
        Stop = 7,
        Summary = 8,
    };
    struct Call {
        Ask ask = Ask::Collect;
        int pid = 0;
    };
    struct Collected {};
    struct Now {
        std::uint64_t t_ns = 0;
    };
    struct Time {
        std::int64_t unix_ns = 0;
    };
    struct Traced {};
    using Answer = std::variant<Collected, Now, Time, core::Losses, event::Records, event::Faults, event::Counters,
                                event::Reading, Traced, core::OwnCost>;

    std::optional<Answer> answer(std::uint64_t kind, ByteReader &body, std::uint64_t base_ns);
    void make(Events &out);
    void attach(Events &out);
    void attach_at_exec(Events &out) const;
    void collect(Events &out);
    void tick(Events &out);
    void stop(Events &out);
    void summary(Events &out);
    void take_in(std::size_t end, Events &out);
    void pass_on(Answer &answer, Events &out) const;
    std::optional<event::Moment> moment_at(std::size_t i) const;
    event::Moment about(std::uint64_t t_ns) const;

    bool counting_;
    event::Moment start_;
    std::optional<Call> call_;  ///< nullopt: its begin is not there
    std::vector<Answer> answers_;
    std::size_t held_ = 0;  ///< bytes of them, or more
    std::uint64_t now_ns_;
    core::OwnCost own_;
};

}  // namespace rsslag::recording
