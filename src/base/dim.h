// Size of a tensor axis: a number, an expression over named sizes ("batch", "2*seq+1"), or unknown until run
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace intarsia {

namespace expression {
struct Polynomial;
}

/// Part of a size in postfix order.
struct SizePart {
  enum class Kind : uint8_t { number, symbol, add, multiply, floor_div, smaller, larger } kind = Kind::number;
  int64_t number = 0;
  std::string symbol = {};
  bool operator==(const SizePart&) const = default;
};

/// Size of the form factor * symbol + rest.
struct LinearSize {
  std::string symbol;
  int64_t factor = 1;  // nonzero
  int64_t rest = 0;
};

/// Symbolic size. Symbols stand for numbers of 0 or more. Expressions are kept in one canonical form, a
/// polynomial with integer coefficients over symbols, floor divisions, minima and maxima. Expressions of
/// equal form have equal values; others may or may not. Results with an unknown operand, beyond 62 bits, or
/// too large to be useful become unknown.
class Dim {
 public:
  Dim() = default;  // unknown
  Dim(int64_t number);
  static Dim named(std::string symbol);
  static Dim unknown() { return {}; }

  bool is_number() const { return kind_ == Kind::number; }
  bool is_known() const { return kind_ != Kind::unknown; }  // number or expression
  /// Returns the value of a size that is a number.
  int64_t number() const;
  /// Returns the name if the size is a single symbol, else null.
  const std::string* symbol() const;
  /// Returns all symbols of the expression.
  std::set<std::string> symbols() const;

  /// Returns the size as a multiple of one symbol plus a number ("2*seq+1"); nullopt if it has another form.
  std::optional<LinearSize> linear() const;

  /// Replaces symbols by sizes; symbols that are not in `values` stay.
  Dim substitute(const std::map<std::string, Dim>& values) const;
  /// Returns the parts of a size that is known, in postfix order: "2*seq+1" is 2, seq, *, 1, +.
  std::vector<SizePart> postfix() const;

  /// Compares what is known about the sizes, not their values at run time: two unknown sizes are equal.
  bool operator==(const Dim& other) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Returns a / b rounded down, for positive b; unknown if b is a number that is not positive.
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim smaller_of(const Dim& a, const Dim& b);
  friend Dim larger_of(const Dim& a, const Dim& b);
  friend bool usually_greater(const Dim& a, const Dim& b);
  friend bool provably_nonnegative(const Dim& a);

  /// Prints "6", "2*seq+1", "floor_div(h+1,2)", "max(seq-1,0)" or "?", with symbols by `print_symbol`, else
  /// as they are.
  std::string print(
      const std::function<std::string(const std::string&)>& print_symbol = std::identity()) const;

 private:
  enum class Kind : uint8_t { unknown, number, expression };

  static Dim from(expression::Polynomial polynomial);
  static Dim extreme(const Dim& a, const Dim& b, bool largest);
  expression::Polynomial polynomial() const;

  Kind kind_ = Kind::unknown;
  int64_t number_ = 0;
  std::shared_ptr<const expression::Polynomial> expression_;
};

Dim floor_div(const Dim& a, const Dim& b);
Dim smaller_of(const Dim& a, const Dim& b);
Dim larger_of(const Dim& a, const Dim& b);

/// Checks whether two sizes are equal for all values of the symbols; false if that is not known.
inline bool provably_equal(const Dim& a, const Dim& b) { return a.is_known() && a == b; }

/// Checks whether `limited` is min(size, n) for a number n of 2 or more: where both are sizes of one axis of
/// a broadcast, they are equal in all runs that do not fail.
bool is_limited(const Dim& limited, const Dim& size);

/// Checks whether a >= b for all symbol values of 1024 or more, but not always a == b; false if not known.
/// For choices that any answer is right for: a size such as floor_div(h, 32) is 0 for a small h, but a tensor
/// is empty then.
bool usually_greater(const Dim& a, const Dim& b);

/// Checks whether a >= 0 for all values of the symbols; false if that is not known.
bool provably_nonnegative(const Dim& a);

/// Returns a / b rounded up, for positive b.
inline Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - 1, b); }

}  // namespace intarsia
