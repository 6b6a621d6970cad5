// SPDX-License-Identifier: BSD-2-Clause
// Names in the body of an item, each stored once. Other parts of the body refer to them by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"

namespace rsslag::recording {

inline constexpr std::size_t kMostPath = 4096;

/// Stores each name once; number 0 is the empty name.
class Names {
  public:
    std::uint64_t number_of(const std::string &name) {
        if (name.empty()) return 0;
        const auto [found, is_new] = numbers_.try_emplace(name, names_.size() + 1);
        if (is_new) names_.push_back(found->first);
        return found->second;
    }
    void put_all(Bytes &out) const {
        put(out, names_.size());
        for (const std::string_view name : names_)
            put_text(out, name);
    }

  private:
    std::map<std::string, std::uint64_t, std::less<>> numbers_;
    std::vector<std::string_view> names_;
};

/// Decodes Names. The total size of the returned names is bounded: one byte of a body may refer to a whole path.
class ReadNames {
  public:
    explicit ReadNames(ByteReader &in) {
        const std::size_t count = in.count();
        for (std::size_t i = 0; i < count && !in.bad(); ++i)
            names_.emplace_back(in.text_up_to(kMostPath));
    }
    std::string take(ByteReader &numbers) {
        const std::uint64_t number = numbers.number();
        if (number < names_.size() && names_[static_cast<std::size_t>(number)].size() <= left_) {
            const std::string &name = names_[static_cast<std::size_t>(number)];
            left_ -= name.size();
            return name;
        }
        numbers.fail();
        return {};
    }

  private:
    std::vector<std::string> names_{std::string()};
    std::size_t left_ = std::size_t{32} << 20;
};

}  // namespace rsslag::recording
