// SPDX-License-Identifier: BSD-2-Clause
// What takes the rows of a recording in: the exporters and the report. Pure: text and bytes go to a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rsslag/core/result.h"
#include "rsslag/sinks/row.h"

namespace rsslag::sinks {

/// Sinks that write bytes pass them on by so many.
inline constexpr std::size_t kFullBuffer = std::size_t{256} * 1024;

/// begin() once, row() for each row in the order of their time, end() once. After an error nothing more is handed on.
class Sink {
  public:
    Sink() = default;
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;
    virtual ~Sink() = default;

    virtual core::Status begin(const Facts &facts) = 0;
    virtual core::Status row(const Row &row) = 0;
    virtual core::Status end(const Ending &ending) = 0;
};

/// Takes bytes for good; the caller's file, pipe or string.
using Write = std::function<core::Status(std::string_view)>;

/// Whether a first line says what the others are.
enum class Head : std::uint8_t { Yes, No };

/// rsslag.record/2: the first line is the header, then a row a line. Keys as docs/schema/record.schema.json has them.
std::unique_ptr<Sink> jsonl_sink(Write write, Head head = Head::Yes);

/// RFC 4180: the names of the columns, then the same rows, flat; a field is empty where JSON has no such key or null.
std::unique_ptr<Sink> csv_sink(Write write, Head head = Head::Yes);

/// Protocol buffers that Perfetto's UI opens: counter tracks of each process, instants of flushes and losses.
std::unique_ptr<Sink> perfetto_sink(Write write);

/// A SQLite database at this path, where no file may be. Its schema is documented in itself.
std::unique_ptr<Sink> sqlite_sink(std::string path);

}  // namespace rsslag::sinks
