// SPDX-License-Identifier: BSD-2-Clause
// Replaces the endpoint and the text in a static build, as the libraries that they use have no static archive.
#include "metrics/endpoint.h"
#include "metrics/exposition.h"

namespace rsslag::metrics {

struct Endpoint::State {};

Endpoint::Endpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Endpoint::~Endpoint() = default;
Endpoint::Endpoint(Endpoint &&) noexcept = default;
Endpoint &Endpoint::operator=(Endpoint &&) noexcept = default;

core::Status supported() {
    return core::Error{core::Kind::Unsupported, "this static build of rsslag has no metrics", 0,
                       "install a package of rsslag, or build it with shared libraries"};
}

core::Result<std::vector<core::Fd>> listening_sockets(const std::string & /*address*/) {
    return supported().error();
}
std::string url_of(int /*listening*/) {
    return "";
}

core::Result<Endpoint> Endpoint::open(std::vector<core::Fd> /*listening*/, Answer /*answer*/) {
    return supported().error();
}
int Endpoint::fd() const {
    return -1;
}
std::chrono::milliseconds Endpoint::patience() const {
    return {};
}
void Endpoint::run() {}

struct Exporter::Metrics {};
Exporter::Exporter() = default;
Exporter::~Exporter() = default;
void Exporter::count_reading(std::int64_t /*resident_bytes*/) {}
void Exporter::count_failure() {}
void Exporter::count_request(double /*cpu_seconds*/) {}

std::string_view content_type(Format /*format*/) {
    return "";
}
Format accepted(std::string_view /*accept*/) {
    return Format::Prometheus;
}
std::string text(const Exposition & /*exposition*/, Format /*format*/) {
    return "";
}
std::string text(const Exporter & /*exporter*/, Format /*format*/) {
    return "";
}

}  // namespace rsslag::metrics
