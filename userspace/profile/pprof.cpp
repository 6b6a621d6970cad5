// SPDX-License-Identifier: BSD-2-Clause
// https://github.com/google/pprof/blob/main/proto/profile.proto
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "core/text.h"
#include "exporters/pieces.h"
#include "formats.h"
#include "profile_fields.h"

namespace rsslag::profile {
namespace {

using protozero::pbf_writer;

/// Strings by number; number 0 is the empty string, as pprof demands.
class Strings {
  public:
    std::int64_t number(std::string_view raw) {
        std::string text = core::printable(raw);
        const auto next = static_cast<std::int64_t>(numbers_.size());
        const auto [found, is_new] = numbers_.try_emplace(std::move(text), next);
        if (is_new) in_order_.push_back(&found->first);
        return found->second;
    }
    const std::vector<const std::string *> &in_order() const { return in_order_; }

  private:
    std::map<std::string, std::int64_t> numbers_{{"", 0}};
    std::vector<const std::string *> in_order_{&numbers_.begin()->first};
};

class Pprof {
  public:
    Pprof(const core::PageSize &page_size, const exporters::Write &write) : page_size_(page_size), pieces_(write) {}

    core::Status write(const Profile &profile, const exporters::Facts &facts) {
        put_type(field::kSampleType, "came");
        put_type(field::kSampleType, "went");
        put_type(field::kSampleType, "resident");
        put_type(field::kPeriodType, "came");
        out_.add_int64(field::kPeriod, bytes(profile.period));
        out_.add_int64(field::kDefaultSampleType, strings_.number("came"));
        out_.add_int64(field::kTimeNanos,
                       std::chrono::duration_cast<std::chrono::nanoseconds>(facts.time.time_since_epoch()).count());
        out_.add_int64(field::kComment,
                       strings_.number(fmt::format("{} samples, {} lost, {} of updates of unknown amount",
                                                   profile.samples, profile.lost, profile.unmatched)));
        for (std::size_t i = 0; i < profile.frames.size(); ++i)
            put_location(i + 1, profile.frames[i]);
        for (const StackFlow &each : profile.flows)
            put_sample(profile, each.pid, each.tid, profile.stacks[each.stack], each.flow, name(each.reason));
        for (const ThreadFlow &thread : profile.threads)
            if (thread.unexplained.size() > 0) put_sample(profile, thread.pid, thread.tid, {}, thread.unexplained, "");
        for (const std::string *const text : strings_.in_order()) {
            out_.add_string(field::kStringTable, *text);
            pass_on();
        }
        return pieces_.end();
    }

  private:
    /// The fields of the outermost message need not be in one string.
    void pass_on() {
        pieces_.put(bytes_);
        bytes_.clear();
    }
    std::int64_t bytes(std::int64_t pages) const { return core::wrapped_product(pages, page_size_.bytes); }

    void put_type(field::Tag tag, std::string_view type) {
        pbf_writer value(out_, tag);
        value.add_int64(field::kType, strings_.number(type));
        value.add_int64(field::kUnit, strings_.number("bytes"));
    }
    std::uint64_t mapping(const core::StackFrame &frame) {
        const auto [found, is_new] = mappings_.try_emplace({frame.file, frame.build_id}, mappings_.size() + 1);
        if (is_new) {
            pbf_writer mapping(out_, field::kMapping);
            mapping.add_uint64(field::kId, found->second);
            mapping.add_uint64(field::kMemoryLimit, UINT64_MAX);  // addresses are those in the file
            mapping.add_int64(field::kFilename, strings_.number(frame.file));
            mapping.add_int64(field::kBuildId, strings_.number(core::hex(frame.build_id)));
            mapping.add_bool(field::kHasFunctions, true);
        }
        return found->second;
    }
    std::uint64_t function(const std::string &name, const std::string &source) {
        const auto [found, is_new] = functions_.try_emplace({name, source}, functions_.size() + 1);
        if (is_new) {
            pbf_writer function(out_, field::kFunction);
            function.add_uint64(field::kId, found->second);
            function.add_int64(field::kName, strings_.number(name));
            function.add_int64(field::kSystemName, strings_.number(name));
            if (!source.empty()) function.add_int64(field::kSourceFile, strings_.number(source));
        }
        return found->second;
    }
    void put_location(std::uint64_t number, const core::StackFrame &frame) {
        const std::uint64_t in_mapping = frame.file.empty() ? 0 : mapping(frame);
        const std::uint64_t in_function = frame.function.empty() ? 0 : function(frame.function, frame.source);
        pass_on();
        pbf_writer location(out_, field::kLocation);
        location.add_uint64(field::kId, number);
        if (in_mapping > 0) location.add_uint64(field::kMappingId, in_mapping);
        location.add_uint64(field::kAddress, frame.address);
        if (in_function > 0) {
            pbf_writer line(location, field::kLine);
            line.add_uint64(field::kFunctionId, in_function);
            if (frame.line > 0) line.add_int64(field::kLineNumber, frame.line);
        }
    }
    void put_sample(const Profile &profile, int pid, int tid, const core::CallStack &stack, const Flow &flow,
                    std::string_view reason) {
        pass_on();
        const std::vector<std::uint32_t> &frames = stack.frames;
        const ThreadFlow *const thread = profile.thread(pid, tid);
        const std::int64_t reason_text = strings_.number(reason);
        const bool whole = stack.end == core::StackEnd::Outermost;
        const std::int64_t end = strings_.number(whole ? "" : name(stack.end));
        const std::int64_t comm = strings_.number(thread == nullptr ? "" : thread->comm);
        std::vector<std::uint64_t> locations(frames.size());
        std::transform(frames.begin(), frames.end(), locations.begin(), [](std::uint64_t frame) { return frame + 1; });
        const std::vector<std::int64_t> values{bytes(flow.came), bytes(flow.went), bytes(flow.resident)};
        pbf_writer sample(out_, field::kSample);
        sample.add_packed_uint64(field::kLocationId, locations.begin(), locations.end());
        sample.add_packed_int64(field::kValue, values.begin(), values.end());
        put_label(sample, "thread", field::kStr, comm);
        if (!reason.empty()) put_label(sample, "reason", field::kStr, reason_text);
        if (end != 0) put_label(sample, "stack", field::kStr, end);
        put_label(sample, "pid", field::kNum, pid);
        put_label(sample, "tid", field::kNum, tid);
    }
    void put_label(pbf_writer &sample, std::string_view key, field::Tag tag, std::int64_t value) {
        pbf_writer label(sample, field::kLabel);
        label.add_int64(field::kKey, strings_.number(key));
        label.add_int64(tag, value);
    }

    core::PageSize page_size_;
    Strings strings_;
    std::map<std::pair<std::string, core::BuildId>, std::uint64_t> mappings_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;  ///< by name and source file
    exporters::Pieces pieces_;
    std::string bytes_;
    pbf_writer out_{bytes_};
};

}  // namespace

core::Status pprof(const Profile &profile, const exporters::Facts &facts, const exporters::Write &write) {
    return Pprof(facts.machine.page_size, write).write(profile, facts);
}

}  // namespace rsslag::profile
