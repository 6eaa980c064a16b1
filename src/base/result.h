// Errors as values. A user's mistake is an Error with one message (what, where, got, want, remedy); a bug of
// ours is INTARSIA_CHECK. Context is added on the way up with `with_context`.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace intarsia {

struct Error {
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// `return fail("node '{}': {}", name, why);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// Prefixes the message of a failed result: `with_context(load(path), "{}", path)` gives "<path>: <message>".
template <typename T, typename... Args>
[[nodiscard]] Result<T> with_context(Result<T> result, fmt::format_string<Args...> format, Args&&... args) {
  if (!result)
    result.error().message = fmt::format(format, std::forward<Args>(args)...) + ": " + result.error().message;
  return result;
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace intarsia

/// Value of a Result, or return its error from the enclosing function: `Graph graph =
/// TRY(import_model(path));`
#define TRY(...)                                                                                  \
  ({                                                                                              \
    auto try_result_ = (__VA_ARGS__);                                                             \
    if (!try_result_) return ::tl::unexpected<::intarsia::Error>(std::move(try_result_).error()); \
    ::intarsia::internal::take(std::move(try_result_));                                           \
  })

/// For invariants of our own code only, never for anything that input can cause.
#define INTARSIA_CHECK(condition) \
  ((condition) ? void() : ::intarsia::check_failed(#condition, __FILE__, __LINE__))

namespace intarsia::internal {
template <typename T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace intarsia::internal
