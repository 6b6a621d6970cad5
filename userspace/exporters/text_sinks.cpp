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
const std::array<std::string, kColumns> &json_keys() {
    static const std::array<std::string, kColumns> keys = [] {
        std::array<std::string, kColumns> made;
        for (std::size_t i = 0; i < kColumns; ++i)
            made[i] = fmt::format("{}\"{}\":", i == 0 ? '{' : ',', column_names()[i]);
        return made;
    }();
    return keys;
}

class JsonFields {
  public:
    explicit JsonFields(std::string &out, std::size_t /*at*/ = 0) : out_(out) {}

    static std::string head(const Facts &facts) {
        nlohmann::ordered_json header{{"schema", "rsslag.record/2"}};
        put_facts(header, facts);
        return header.dump() + "\n";
    }

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
    const std::array<std::string, kColumns> &keys_ = json_keys();
};

class CsvFields {
  public:
    /// `at`: the number of columns that are not in `out`.
    explicit CsvFields(std::string &out, std::size_t at = 0) : out_(out), at_(at) {}

    static std::string head(const Facts & /*facts*/) { return fmt::format("{}\r\n", fmt::join(column_names(), ",")); }

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
template <class Fields>
class TextSink : public Sink {
  public:
    TextSink(Write write, Head head) : with_head_(head == Head::Yes), write_(std::move(write)) {
        out_.reserve(kFullBuffer + 4096);
    }

    core::Status begin(const Facts &facts) override {
        page_size_ = facts.machine.page_size;
        Fields fields(trace_, kTraceColumn);
        put_fields(facts, page_size_, fields);
        if (with_head_) out_ += Fields::head(facts);
        return core::success();
    }

    core::Status row(const Row &row) override {
        std::visit([this](const auto &each) { put(each); }, row);
        return out_.size() < kFullBuffer ? core::success() : pass_on();
    }

    core::Status end(const Ending &ending) override {
        for (const MissingPart &missing : ending.missing)
            put(MissingRow(missing));
        return pass_on();
    }

  private:
    template <class AnyRow>
    void put(const AnyRow &row) {
        Fields fields(out_);
        put_fields(row, page_size_, fields);
        fields.finish(trace_);
    }
    core::Status pass_on() {
        core::Status written = write_(out_);
        out_.clear();
        return written;
    }

    std::string out_;
    std::string trace_;  ///< the fields of Facts
    core::PageSize page_size_;
    bool with_head_;
    Write write_;
};

}  // namespace

std::unique_ptr<Sink> jsonl_sink(Write write, Head head) {
    return std::make_unique<TextSink<JsonFields>>(std::move(write), head);
}

std::unique_ptr<Sink> csv_sink(Write write, Head head) {
    return std::make_unique<TextSink<CsvFields>>(std::move(write), head);
}

}  // namespace rsslag::exporters
