// SPDX-License-Identifier: BSD-2-Clause
// rsslag serve: exact RSS of all processes as metrics that Prometheus scrapes.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/capability.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "commands.h"
#include "core/duration.h"
#include "exit_status.h"
#include "metrics/endpoint.h"
#include "metrics_tracer.h"
#include "session/metrics_reader.h"
#include "system/own_cost.h"
#include "system/signals.h"
#include "terminal/output.h"
#include "version.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using core::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct ServeOptions {
    std::string listen = "127.0.0.1:9435";
    std::string by = "comm";
    std::size_t most = session::kMostGroups;
    std::string max_age = "1s";
    std::vector<std::string> traced;  ///< globs of names
};

/// Answers requests. All requests within max_age share one reading and its text.
class Server {
  public:
    Server(session::MetricsReader reader, std::optional<MetricsTracer> tracer, milliseconds max_age)
        : reader_(std::move(reader)), tracer_(std::move(tracer)), max_age_(max_age) {}

    /// Null without --trace. Its collect() must be called often.
    MetricsTracer *tracer() { return tracer_ ? &*tracer_ : nullptr; }

    metrics::Response answer(const metrics::Request &request) {
        if (request.path == "/") return {200, "text/plain; charset=utf-8", "rsslag: metrics are at /metrics\n"};
        if (request.path != "/metrics")
            return {404, "text/plain; charset=utf-8", "not found: metrics are at /metrics\n"};
        const Status fresh = refresh();
        exporter_.count_request(system::cpu_seconds());
        if (!fresh) {
            spdlog::warn("{}", fresh.error().what);
            return {503, "text/plain; charset=utf-8", fresh.error().what + "\n"};
        }
        const metrics::Format format = metrics::accepted(request.accept);
        Text &text = texts_[format];
        if (!text) text = std::make_shared<const std::string>(metrics::text(*exposition_, format));
        return {200, std::string(metrics::content_type(format)), metrics::text(exporter_, format), text};
    }

  private:
    using Text = std::shared_ptr<const std::string>;

    Status refresh() {
        const auto now = Clock::now();
        if (exposition_ && now - read_at_ < max_age_) return core::success();
        auto exposition = reader_.read();
        if (!exposition) {
            exporter_.count_failure();
            return exposition.error();
        }
        if (tracer_) exposition->trace = tracer_->read();
        exposition_ = std::move(*exposition);
        texts_.clear();
        read_at_ = now;
        exporter_.count_reading(reader_.own_resident_bytes());
        return core::success();
    }

    session::MetricsReader reader_;
    std::optional<MetricsTracer> tracer_;
    milliseconds max_age_;
    std::optional<metrics::Exposition> exposition_;
    std::map<metrics::Format, Text> texts_;  ///< of this exposition, in the formats that were requested
    Clock::time_point read_at_;
    metrics::Exporter exporter_;
};

std::vector<cap_value_t> needed_capabilities(const ServeOptions &options) {
    if (options.traced.empty()) return {};
    return {CAP_SYS_PTRACE, CAP_SYS_NICE};  // the second one raises the priority of the thread that drains the rings
}

/// Serves until a signal comes.
void answer_all(metrics::Endpoint &endpoint, Server &server, system::StopSignals &stop) {
    constexpr milliseconds kCollects{50};
    for (;;) {
        int readable = endpoint.fd();
        const milliseconds most = server.tracer() != nullptr ? kCollects : endpoint.patience();
        if (stop.wait(std::min(most, endpoint.patience()), &readable)) return;
        endpoint.run();
        if (server.tracer() != nullptr) server.tracer()->collect();
    }
}

int serve(const ServeOptions &options) {
    const auto by = metrics::by_named(options.by);
    const auto max_age = core::parse_duration(options.max_age);
    if (!max_age) return fail(max_age.error());
    // Ports below 1024 need a capability (CAP_NET_BIND_SERVICE), and MetricsReader::open() drops it.
    auto listening = metrics::listening_sockets(options.listen);
    if (!listening) return fail(listening.error());
    std::string urls;
    for (const core::Fd &socket : *listening)
        urls += metrics::url_of(socket.get()) + "\n";
    system::StopSignals stop;
    auto reader = session::MetricsReader::open({*by, options.most, short_version(), needed_capabilities(options)});
    if (!reader) return fail(reader.error());
    std::optional<MetricsTracer> tracer;
    if (!options.traced.empty()) {
        auto opened = MetricsTracer::open(options.traced, *by, options.most, [&stop] { return stop.stop_requested(); });
        if (!opened) return fail(opened.error());
        tracer.emplace(std::move(*opened));
    }
    Server server(std::move(*reader), std::move(tracer), std::chrono::duration_cast<milliseconds>(*max_age));
    auto endpoint = metrics::Endpoint::open(
        std::move(*listening), [&server](const metrics::Request &request) { return server.answer(request); });
    if (!endpoint) return fail(endpoint.error());
    if (const Status printed = terminal::print(urls); !printed) return fail(printed.error());
    answer_all(*endpoint, server, stop);
    return kDone;
}

}  // namespace

Run add_serve(CLI::App &app, const Common &common) {
    auto options = std::make_shared<ServeOptions>();
    CLI::App *const command = app.add_subcommand("serve", "Serve the exact RSS of all processes as Prometheus metrics");
    command
        ->add_option("--listen", options->listen, "Listen on ADDRESS:PORT; sockets passed by systemd take precedence")
        ->capture_default_str();
    command->add_option("--by", options->by, "Group processes by comm, exe, user, cgroup or unit")
        ->capture_default_str();
    command->add_option("--top", options->most, "At most this many groups; the rest are summed as \"other\"")
        ->capture_default_str();
    command->add_option("--max-age", options->max_age, "Use one reading for all requests within this time")
        ->capture_default_str();
    command->add_option("--trace", options->traced,
                        "Also trace processes whose name matches this glob: updates, faults, flushes");
    return [options, &common] {
        if (!common.command.empty())
            return fail({Kind::BadInput, "serve takes no -- CMD", 0, "omit it: serve reads all processes"});
        return serve(*options);
    };
}

}  // namespace rsslag::cli
