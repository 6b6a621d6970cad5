// SPDX-License-Identifier: BSD-2-Clause
// Receivers of the rows of a recording: exporters and the report. Pure, except sqlite_sink(): output goes to a
// callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/event.h"
#include "core/result.h"
#include "exporters/row.h"

namespace rsslag::exporters {

/// Sinks that write bytes pass them on in pieces of about this size.
inline constexpr std::size_t kFullBuffer = std::size_t{256} * 1024;

/// Call begin() once, row() for each row in the order of time, end() once. They return errors of the output (Kind::Io);
/// after an error, call none of them again.
class Sink {
  public:
    Sink() = default;
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;
    virtual ~Sink() = default;

    virtual core::Status begin(const Facts &facts) = 0;
    virtual core::Status row(const Row &row) = 0;
    virtual core::Status end(const Ending &ending) = 0;

    /// Samples, before the rows of their updates. Their stacks come later.
    virtual void samples(const core::event::Samples & /*samples*/) {}
    virtual void stacks(const core::event::Stacks & /*stacks*/) {}
    virtual void absent_pages(const core::event::AbsentPages & /*absent*/) {}
};

/// Writes all of the bytes to the caller's file, pipe or string.
using Write = std::function<core::Status(std::string_view)>;

/// Whether to write a first line that describes the others.
enum class Head : std::uint8_t { Yes, No };

/// rsslag.record/2: the header, then one row per line. Keys as in docs/schema/record.schema.json.
std::unique_ptr<Sink> jsonl_sink(Write write, Head head = Head::Yes);

/// CSV as in RFC 4180: the names of the columns, then one flat line for each row. A field is empty if the JSON has no
/// such key or the value null.
std::unique_ptr<Sink> csv_sink(Write write, Head head = Head::Yes);

/// Protocol buffers for Perfetto's UI: counter tracks of each process, instants for flushes and losses.
std::unique_ptr<Sink> perfetto_sink(Write write);

/// A SQLite database at `path`, which must not exist. It contains the documentation of its schema. `stop` is called
/// occasionally, also while the indexes are made; if it returns true, the sink fails.
std::unique_ptr<Sink> sqlite_sink(std::string path, std::function<bool()> stop = nullptr);

}  // namespace rsslag::exporters
