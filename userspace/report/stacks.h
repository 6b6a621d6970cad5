// SPDX-License-Identifier: BSD-2-Clause
// Which code the pages came and went by, estimated from samples of updates (--stacks).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event.h"
#include "exporters/row.h"

namespace rsslag::report {

/// Pages that came and went, both at least 0. From samples, they are estimates.
struct Flow {
    double came = 0, went = 0;
    std::uint64_t samples = 0;

    void add(double pages) { (pages < 0 ? went : came) += pages < 0 ? -pages : pages; }
    double net() const { return came - went; }
    Flow &operator+=(const Flow &other) {
        came += other.came;
        went += other.went;
        samples += other.samples;
        return *this;
    }
};

/// The flow of a thread by one stack.
struct StackFlow {
    std::size_t stack = 0;  ///< index of StackReport::stacks
    int pid = 0, tid = 0;
    Flow flow;
};

struct StackThread {
    int pid = 0, tid = 0;
    std::string comm;
    Flow exact;        ///< from the records; `samples` is 0
    Flow unexplained;  ///< what no sample explains: a direction without any
};

/// For each thread and direction the flows of its stacks and what is unexplained sum up to what the records say.
struct StackReport {
    std::uint32_t period = 0;  ///< pages to a sample, on average; 0: the recording has no samples
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;       ///< samples for which the ring had no space
    std::uint64_t unmatched = 0;  ///< samples whose record or amount is unknown
    std::vector<core::StackFrame> frames;
    std::vector<core::CallStack> stacks;
    std::vector<StackFlow> flows;  ///< the largest first
    std::vector<StackThread> threads;
};

/// One line of a table by function, file or thread.
struct StackLine {
    std::string name;  ///< raw bytes
    Flow all;          ///< of the stacks that contain it
    Flow self;         ///< of those whose innermost frame it is
};

enum class StacksBy : std::uint8_t { Function, File, Thread };

/// Sums, the largest first.
std::vector<StackLine> lines(const StackReport &report, StacksBy by);

/// What `report --stacks` prints.
struct StacksStyle {
    std::string by;  ///< "function", "file" or "thread"
    bool json = false, all = false, utf8 = true;
    core::PageSize page_size;
};
std::string stacks_shown(const StackReport &report, const StacksStyle &style);

/// rsslag.stacks/1, or a table.
std::string stacks_json(const StackReport &report, const core::PageSize &page_size);
std::string stacks_text(const StackReport &report, StacksBy by, std::size_t most, const core::PageSize &page_size,
                        bool utf8);

/// Collects samples, rows of updates and stacks. A sample comes before its row and its stack.
class StackShares {
  public:
    void begin(std::uint32_t period) { report_.period = period; }
    void samples(const core::event::Samples &samples);
    void note(const exporters::UpdateRow &row);
    void stacks(const core::event::Stacks &stacks);
    StackReport take();

  private:
    struct Waiting {
        std::int32_t believed = 0;
        std::optional<double>
            pages;  ///< signed: the amount divided by the probability of the sample; of the update's row
        int pid = 0, tid = 0;
        std::optional<std::size_t> stack;
    };
    using Task = std::pair<int, int>;  ///< PID of the mm, TID

    /// To be called for the row and for the stack of a sample: whichever comes last completes it.
    void complete(std::unordered_map<std::uint64_t, Waiting>::iterator at);
    std::uint32_t frame_number(const core::StackFrame &frame);
    std::size_t stack_number(const core::CallStack &stack, const std::vector<core::StackFrame> &frames);

    StackReport report_;
    std::unordered_map<std::uint64_t, Waiting> waiting_;  ///< by the number of the sample
    std::map<core::StackFrame, std::uint32_t> frames_;
    std::map<core::CallStack, std::size_t> stacks_;
    std::map<std::pair<std::size_t, Task>, Flow> flows_;
    std::map<Task, StackThread> threads_;
};

}  // namespace rsslag::report
