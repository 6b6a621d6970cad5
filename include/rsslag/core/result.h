// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace rsslag::core {

/// What went wrong, as the caller must treat it. `cli` maps each to one exit status.
enum class Kind {
    BadInput,     ///< the user asked for something that cannot be meant: status 2
    Denied,       ///< this user may not: status 3
    Unsupported,  ///< this kernel, machine or target cannot: status 3
    Gone,         ///< the target ended meanwhile: status 3
    Corrupt,      ///< a file does not hold what it should: status 2
    Io,           ///< reading or writing failed: status 1
    Internal,     ///< rsslag is at fault: status 1
};

/// One failure. `what` says what was wrong, `remedy` (may be empty) what would be right.
/// `err` is a positive errno or 0; libraries that return negative errnos are turned around at their border.
struct Error {
    Kind kind = Kind::Internal;
    std::string what;
    int err = 0;
    std::string remedy;
};

/// Either a value or an Error; never both, never neither.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T &operator*() & { return std::get<0>(state_); }
    const T &operator*() const & { return std::get<0>(state_); }
    T &&operator*() && { return std::get<0>(std::move(state_)); }
    T *operator->() { return &std::get<0>(state_); }
    const T *operator->() const { return &std::get<0>(state_); }

    const Error &error() const & { return std::get<1>(state_); }
    Error &&error() && { return std::get<1>(std::move(state_)); }

  private:
    std::variant<T, Error> state_;
};

/// A Result that carries no value.
using Status = Result<std::monostate>;

inline Status success() {
    return std::monostate{};
}

}  // namespace rsslag::core
