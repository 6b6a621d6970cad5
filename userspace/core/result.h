// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace rsslag::core {

/// The kind of a failure. The `cli` module maps each kind to an exit status.
enum class Kind {
    BadInput,     ///< invalid input or arguments: status 2
    Denied,       ///< missing privileges: status 3
    Unsupported,  ///< not possible on this kernel or machine, or with this target: status 3
    Gone,         ///< the target has ended: status 3
    Corrupt,      ///< a file has invalid contents: status 2
    Io,           ///< reading or writing failed: status 1
    Internal,     ///< a bug in rsslag: status 1
};

/// A failure. `what`: what failed, of what, and why. `remedy`: what to do about it, may be empty. `err`: a positive
/// errno or 0; negative errnos of libraries are negated where the library is called.
struct Error {
    Kind kind = Kind::Internal;
    std::string what;
    int err = 0;
    std::string remedy;
};

/// Holds either a value or an Error.
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

/// A Result without a value.
using Status = Result<std::monostate>;

inline Status success() {
    return std::monostate{};
}

}  // namespace rsslag::core
