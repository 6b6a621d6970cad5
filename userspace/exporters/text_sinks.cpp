// SPDX-License-Identifier: BSD-2-Clause
// Rows as JSON lines and CSV. At over a million rows per second, numbers are formatted directly into one buffer.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "core/text.h"
#include "exporters/facts_json.h"
#include "exporters/sink.h"
#include "row_fields.h"

namespace rsslag::exporters {
namespace {

template <class Number>
void append_number(std::string &out, Number number) {
    const fmt::format_int text(number);
    out.append(text.data(), text.size());
}

/// "key": for each column, so that a field costs one append.
std::array<std::string, kColumns> json_keys() {
    std::array<std::string, kColumns> keys;
    for (std::size_t i = 0; i < kColumns; ++i)
        keys[i] = fmt::format("{}\"{}\":", i == 0 ? '{' : ',', column_names()[i]);
    return keys;
}

class JsonFields {
  public:
    JsonFields(std::string &out, const std::array<std::string, kColumns> &keys) : out_(out), keys_(keys) {}

    template <class Value>
    void operator()(std::size_t column, const Value &value) {
        out_ += keys_[column];
        text(value);
    }

    /// `trace`: the fields of Facts, which come last.
    void finish(std::string_view trace) { (out_ += trace) += "}\n"; }

  private:
    template <class Value>
    void text(const std::optional<Value> &value) {
        value ? text(*value) : void(out_ += "null");
    }
    void text(std::string_view value) { (((out_ += '"') += value) += '"'); }
    void text(bool value) { out_ += value ? "true" : "false"; }
    void text(Raw raw) {
        out_ += '"';
        const std::size_t begin = out_.size();
        append_harmless(out_, raw.bytes);
        // Two characters that printable() keeps must be escaped in JSON.
        for (std::size_t at = begin; at < out_.size(); ++at) {
            if (out_[at] == '"' || out_[at] == '\\') out_.insert(at++, 1, '\\');
        }
        out_ += '"';
    }
    void text(Hex hex) { fmt::format_to(std::back_inserter(out_), FMT_COMPILE("\"{:#x}\""), hex.number); }
    void text(Id id) { fmt::format_to(std::back_inserter(out_), FMT_COMPILE("\"{}\""), id.number); }
    template <class Number>
    void text(Number number) requires std::is_integral_v<Number> {
        append_number(out_, number);
    }

    std::string &out_;
    const std::array<std::string, kColumns> &keys_;
};

class CsvFields {
  public:
    explicit CsvFields(std::string &out, std::size_t at = 0) : out_(out), at_(at) {}

    template <class Value>
    void operator()(std::size_t column, const Value &value) {
        out_.append(column - at_, ',');
        at_ = column;
        text(value);
    }

    /// `trace`: the fields of Facts, which come last.
    void finish(std::string_view trace) { out_.append(kTraceColumn - at_, ',').append(trace).append("\r\n"); }

  private:
    template <class Value>
    void text(const std::optional<Value> &value) {
        if (value) text(*value);
    }
    void text(std::string_view value) { out_ += value; }
    void text(bool value) { out_ += value ? "true" : "false"; }
    /// Quoted only if necessary, with quotes doubled. printable() has escaped line breaks.
    void text(Raw raw) {
        const std::size_t begin = out_.size();
        append_harmless(out_, raw.bytes);
        if (out_.find_first_of(",\"", begin) == std::string::npos) return;
        for (std::size_t at = begin; at < out_.size(); ++at) {
            if (out_[at] == '"') out_.insert(at++, 1, '"');
        }
        out_.insert(begin, 1, '"') += '"';
    }
    void text(Hex hex) { fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{:#x}"), hex.number); }
    void text(Id id) { append_number(out_, id.number); }
    template <class Number>
    void text(Number number) requires std::is_integral_v<Number> {
        append_number(out_, number);
    }

    std::string &out_;
    std::size_t at_;
};

/// Collects text and writes it in large pieces.
class Buffered : public Sink {
  public:
    Buffered(Write write, Head head) : with_head(head == Head::Yes), write_(std::move(write)) {
        out.reserve(kFullBuffer + 4096);
    }

    core::Status end(const Ending & /*ending*/) override { return pass_on(); }

  protected:
    core::Status pass_on_if_full() { return out.size() < kFullBuffer ? core::success() : pass_on(); }

    std::string out;
    std::string trace;  ///< the fields of Facts
    core::PageSize page_size;
    const bool with_head;

  private:
    core::Status pass_on() {
        core::Status written = write_(out);
        out.clear();
        return written;
    }

    Write write_;
};

class Jsonl : public Buffered {
  public:
    using Buffered::Buffered;

    core::Status begin(const Facts &facts) override {
        page_size = facts.machine.page_size;
        JsonFields fields(trace, keys_);
        put_fields(facts, page_size, fields);
        nlohmann::ordered_json header{{"schema", "rsslag.record/2"}};
        put_facts(header, facts);
        if (with_head) out += header.dump() + "\n";
        return core::success();
    }

    core::Status row(const Row &row) override {
        std::visit(
            [&](const auto &each) {
                JsonFields fields(out, keys_);
                put_fields(each, page_size, fields);
                fields.finish(trace);
            },
            row);
        return pass_on_if_full();
    }

    core::Status end(const Ending &ending) override {
        for (const MissingPart &missing : ending.missing) {
            JsonFields fields(out, keys_);
            put_fields(MissingRow(missing), page_size, fields);
            fields.finish(trace);
        }
        return Buffered::end(ending);
    }

  private:
    std::array<std::string, kColumns> keys_ = json_keys();
};

class Csv : public Buffered {
  public:
    using Buffered::Buffered;

    core::Status begin(const Facts &facts) override {
        page_size = facts.machine.page_size;
        CsvFields fields(trace, kTraceColumn);
        put_fields(facts, page_size, fields);
        if (with_head) out += fmt::format("{}\r\n", fmt::join(column_names(), ","));
        return core::success();
    }

    core::Status row(const Row &row) override {
        std::visit(
            [&](const auto &each) {
                CsvFields fields(out);
                put_fields(each, page_size, fields);
                fields.finish(trace);
            },
            row);
        return pass_on_if_full();
    }

    core::Status end(const Ending &ending) override {
        for (const MissingPart &missing : ending.missing) {
            CsvFields fields(out);
            put_fields(MissingRow(missing), page_size, fields);
            fields.finish(trace);
        }
        return Buffered::end(ending);
    }
};

}  // namespace

std::unique_ptr<Sink> jsonl_sink(Write write, Head head) {
    return std::make_unique<Jsonl>(std::move(write), head);
}

std::unique_ptr<Sink> csv_sink(Write write, Head head) {
    return std::make_unique<Csv>(std::move(write), head);
}

}  // namespace rsslag::exporters
