// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/log_format.h"

#include <spdlog/pattern_formatter.h>

#include <string_view>
#include <utility>

#include "core/text.h"
#include "terminal/style.h"

namespace rsslag::terminal {
namespace {

class HarmlessText final : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg &message, const std::tm & /*time*/, spdlog::memory_buf_t &out) override {
        const std::string text =
            core::harmless(std::string_view(message.payload.data(), message.payload.size()), locale_is_utf8());
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<HarmlessText>(); }
};

}  // namespace

std::unique_ptr<spdlog::formatter> log_format() {
    auto format = std::make_unique<spdlog::pattern_formatter>();
    format->add_flag<HarmlessText>('*').set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%l] %*");
    return format;
}

}  // namespace rsslag::terminal
