// A size of a tensor: a number, an expression over named sizes ("batch", "2*seq+1"), or unknown until run
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace intarsia {

namespace expression {
struct Polynomial;
}

/// factor * symbol + rest.
struct LinearSize {
  std::string symbol;
  int64_t factor = 1;  // not 0
  int64_t rest = 0;
};

/// Symbols stand for sizes: numbers of 0 or more. Expressions are kept in one canonical form, a polynomial
/// with integer coefficients over symbols, floor divisions, minima and maxima; expressions of equal form have
/// equal values, the others may or may not. What has an unknown operand, does not fit 62 bits or grows beyond
/// all use is unknown.
class Dim {
 public:
  Dim() = default;  // unknown
  Dim(int64_t number);
  static Dim named(std::string symbol);
  static Dim unknown() { return {}; }

  bool is_number() const { return kind_ == Kind::number; }
  bool is_known() const { return kind_ != Kind::unknown; }  // a number or an expression
  /// Of a number.
  int64_t number() const;
  /// The name if the size is one symbol, else null.
  const std::string* symbol() const;
  /// All that the expression has.
  std::set<std::string> symbols() const;

  /// The size as a multiple of one symbol plus a number ("2*seq+1"); nothing: it is something else.
  std::optional<LinearSize> linear() const;

  /// With numbers in place of symbols; those that are not in `values` stay.
  Dim substitute(const std::map<std::string, int64_t>& values) const;

  /// An unknown size equals an unknown size: this compares what is known, not the sizes of the moment.
  bool operator==(const Dim& other) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// a / b rounded down, where b is positive; unknown if b is a number that is not.
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim smaller_of(const Dim& a, const Dim& b);
  friend Dim larger_of(const Dim& a, const Dim& b);
  friend bool provably_greater(const Dim& a, const Dim& b);

  /// "6", "2*seq+1", "floor_div(h+1,2)", "max(seq-1,0)", "?"; symbols as `print_symbol` gives them.
  std::string print(const std::function<std::string(const std::string&)>& print_symbol) const;

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

/// Are the two the same size whatever the symbols are? False if that is not known.
inline bool provably_equal(const Dim& a, const Dim& b) { return a.is_known() && a == b; }

/// Is a >= b for all sizes of 1 and more, and not a == b for all? False if that is not known.
bool provably_greater(const Dim& a, const Dim& b);

/// a / b rounded up, where b is positive.
inline Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - 1, b); }

}  // namespace intarsia
