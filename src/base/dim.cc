#include "base/dim.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "base/result.h"

namespace intarsia {
namespace expression {

/// Factor of a product: a symbol, or a function of two polynomials.
struct Atom {
  enum class Kind : uint8_t { symbol, floor_div, min, max } kind = Kind::symbol;
  std::string symbol;
  std::vector<Polynomial> operands;  // operands of a function: 2

  std::strong_ordering operator<=>(const Atom& other) const;
  bool operator==(const Atom& other) const { return (*this <=> other) == 0; }
};

struct Term {
  std::vector<Atom> atoms;  // sorted, with repetition (powers); empty in the constant term
  int64_t coefficient = 0;

  std::strong_ordering operator<=>(const Term& other) const {
    return std::tie(atoms, coefficient) <=> std::tie(other.atoms, other.coefficient);
  }
  bool operator==(const Term& other) const = default;
};

/// Sum of terms with different atoms, by descending degree; no coefficient is 0.
struct Polynomial {
  std::vector<Term> terms;
  bool overflow = false;  // value was too large; the terms are meaningless

  std::strong_ordering operator<=>(const Polynomial& other) const { return terms <=> other.terms; }
  bool operator==(const Polynomial& other) const { return terms == other.terms; }
};

std::strong_ordering Atom::operator<=>(const Atom& other) const {
  return std::tie(kind, symbol, operands) <=> std::tie(other.kind, other.symbol, other.operands);
}

}  // namespace expression

namespace {

using expression::Atom;
using expression::Polynomial;
using expression::Term;

// Limit for expressions from edited files; sizes in models are small expressions.
constexpr size_t max_parts = 128;
// Bound below the magnitude of the least int64_t, so that each coefficient can be negated and has a gcd.
constexpr int64_t max_coefficient = int64_t{1} << 62;

bool is_large(int64_t coefficient) { return coefficient > max_coefficient || coefficient < -max_coefficient; }

/// Counts terms and atoms, including those of operands.
size_t count_parts(const Polynomial& polynomial) {
  size_t count = 0;
  for (const Term& term : polynomial.terms) {
    count += 1 + term.atoms.size();
    for (const Atom& atom : term.atoms) {
      for (const Polynomial& operand : atom.operands) count += count_parts(operand);
    }
  }
  return count;
}

bool comes_before(const Term& a, const Term& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size();
  return a.atoms < b.atoms;
}

void add_term(Polynomial& to, Term term) {
  const auto at = std::ranges::lower_bound(to.terms, term, comes_before);
  to.overflow |= is_large(term.coefficient);
  if (at == to.terms.end() || at->atoms != term.atoms) {
    if (term.coefficient != 0) to.terms.insert(at, std::move(term));
    return;
  }
  to.overflow |= __builtin_add_overflow(at->coefficient, term.coefficient, &at->coefficient);
  to.overflow |= is_large(at->coefficient);
  if (at->coefficient == 0) to.terms.erase(at);
}

Polynomial constant(int64_t number) {
  Polynomial result;
  result.overflow = is_large(number);
  if (!result.overflow) add_term(result, {{}, number});
  return result;
}

Polynomial sum(Polynomial a, const Polynomial& b, int64_t times_b = 1) {
  a.overflow |= b.overflow;
  for (Term term : b.terms) {
    a.overflow |= __builtin_mul_overflow(term.coefficient, times_b, &term.coefficient);
    add_term(a, std::move(term));
  }
  return a;
}

Polynomial product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  result.overflow = a.overflow || b.overflow;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      Term term;
      std::ranges::merge(x.atoms, y.atoms, std::back_inserter(term.atoms));
      result.overflow |= __builtin_mul_overflow(x.coefficient, y.coefficient, &term.coefficient);
      add_term(result, std::move(term));
    }
    result.overflow |= result.terms.size() > max_parts;
    if (result.overflow) break;
  }
  return result;
}

/// Returns the value of a constant polynomial, else nullopt.
std::optional<int64_t> as_number(const Polynomial& polynomial) {
  if (polynomial.terms.empty()) return 0;
  const Term& first = polynomial.terms.front();
  return first.atoms.empty() ? std::optional(first.coefficient) : std::nullopt;
}

Polynomial function(Atom::Kind kind, Polynomial a, Polynomial b) {
  Polynomial result;
  result.overflow = a.overflow || b.overflow;
  result.terms.push_back({{Atom{kind, {}, {std::move(a), std::move(b)}}}, 1});
  return result;
}

bool is_nonnegative(const Polynomial& polynomial);

bool is_nonnegative(const Atom& atom) {
  if (atom.kind == Atom::Kind::symbol) return true;
  const bool first = is_nonnegative(atom.operands[0]), second = is_nonnegative(atom.operands[1]);
  return atom.kind == Atom::Kind::max ? first || second : first && (second || atom.kind != Atom::Kind::min);
}

/// Checks whether a polynomial is provably 0 or more for all values of its symbols. A divisor is positive
/// wherever the expression has a value.
bool is_nonnegative(const Polynomial& polynomial) {
  return std::ranges::all_of(polynomial.terms, [](const Term& term) {
    return term.coefficient > 0 &&
           std::ranges::all_of(term.atoms, [](const Atom& atom) { return is_nonnegative(atom); });
  });
}

/// Checks whether a polynomial is provably 0 or more, also by what a maximum or minimum in it may be:
/// max(0,n-1)-n+1 is, as n-1-n+1 is. `depth`: of maxima and minima that are looked into.
bool is_nonnegative(const Polynomial& polynomial, int depth) {
  if (polynomial.overflow) return false;
  if (is_nonnegative(polynomial)) return true;
  if (depth == 0) return false;
  for (const Term& term : polynomial.terms) {
    const bool is_extreme = term.atoms.size() == 1 &&
                            (term.atoms[0].kind == Atom::Kind::max || term.atoms[0].kind == Atom::Kind::min);
    if (!is_extreme || std::abs(term.coefficient) != 1) continue;
    Polynomial rest = polynomial;
    add_term(rest, {term.atoms, -term.coefficient});
    const auto holds_with = [&](const Polynomial& operand) {
      return is_nonnegative(sum(rest, operand, term.coefficient), depth - 1);
    };
    const bool first = holds_with(term.atoms[0].operands[0]), second = holds_with(term.atoms[0].operands[1]);
    // The larger operand of a maximum, and the smaller one of a minimum that is subtracted, is no less.
    const bool is_either = (term.atoms[0].kind == Atom::Kind::max) == (term.coefficient > 0);
    if (is_either ? first || second : first && second) return true;
  }
  return false;
}

/// Checks whether a >= b for all values of the symbols; false if that is not known.
bool is_at_least(const Polynomial& a, const Polynomial& b) { return is_nonnegative(sum(a, b, -1), 2); }

int64_t floor_of_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Split a = b * quotient + rest: the quotient has the terms that the number b divides, and the constant's
/// floor quotient.
struct Division {
  Polynomial quotient, rest;
};

Division divide_by_number(const Polynomial& a, int64_t b) {
  Division result;
  for (Term term : a.terms) {
    const int64_t times = floor_of_quotient(term.coefficient, b);
    const bool is_constant = term.atoms.empty();
    if (!is_constant && term.coefficient % b != 0) {
      add_term(result.rest, std::move(term));
      continue;
    }
    if (is_constant) add_term(result.rest, {{}, term.coefficient - times * b});
    add_term(result.quotient, {std::move(term.atoms), times});
  }
  return result;
}

Polynomial divide_terms(const Polynomial& a, const Term& divisor) {
  Polynomial result;
  for (const Term& term : a.terms) {
    Term part{{}, term.coefficient / divisor.coefficient};
    std::ranges::set_difference(term.atoms, divisor.atoms, std::back_inserter(part.atoms));
    add_term(result, std::move(part));
  }
  return result;
}

/// Returns the greatest nonnegative factor that divides every term of both.
Term common_factor(const Polynomial& a, const Polynomial& b) {
  Term common;
  std::ranges::copy_if(b.terms.front().atoms, std::back_inserter(common.atoms),
                       [](const Atom& atom) { return is_nonnegative(atom); });
  for (const Polynomial* polynomial : {&a, &b}) {
    for (const Term& term : polynomial->terms) {
      std::vector<Atom> shared;
      std::ranges::set_intersection(common.atoms, term.atoms, std::back_inserter(shared));
      common = {std::move(shared), std::gcd(common.coefficient, term.coefficient)};
    }
  }
  return common;
}

std::string print_polynomial(const Polynomial& polynomial,
                             const std::function<std::string(const std::string&)>& print_symbol) {
  constexpr const char* names[] = {"", "floor_div", "min", "max"};
  const auto print_atom = [&](const Atom& atom) {
    if (atom.kind == Atom::Kind::symbol) return print_symbol(atom.symbol);
    return fmt::format("{}({},{})", names[static_cast<size_t>(atom.kind)],
                       print_polynomial(atom.operands[0], print_symbol),
                       print_polynomial(atom.operands[1], print_symbol));
  };
  std::string text;
  for (const Term& term : polynomial.terms) {
    std::vector<std::string> factors;
    const bool is_sign = !term.atoms.empty() && std::abs(term.coefficient) == 1;
    if (!is_sign) factors.push_back(std::to_string(term.coefficient));
    for (const Atom& atom : term.atoms) factors.push_back(print_atom(atom));
    if (!text.empty() && term.coefficient > 0) text += '+';
    if (is_sign && term.coefficient < 0) text += '-';
    text += fmt::format("{}", fmt::join(factors, "*"));
  }
  return text.empty() ? "0" : text;
}

void collect_symbols(const Polynomial& polynomial, std::set<std::string>& symbols) {
  for (const Term& term : polynomial.terms) {
    for (const Atom& atom : term.atoms) {
      if (atom.kind == Atom::Kind::symbol) symbols.insert(atom.symbol);
      for (const Polynomial& operand : atom.operands) collect_symbols(operand, symbols);
    }
  }
}

using SymbolValue = std::function<Dim(const std::string& symbol)>;

Dim substitute_in(const Polynomial& polynomial, const SymbolValue& value_of) {
  const auto value_of_atom = [&](const Atom& atom) {
    if (atom.kind == Atom::Kind::symbol) return value_of(atom.symbol);
    const Dim a = substitute_in(atom.operands[0], value_of), b = substitute_in(atom.operands[1], value_of);
    if (atom.kind == Atom::Kind::floor_div) return floor_div(a, b);
    return atom.kind == Atom::Kind::min ? smaller_of(a, b) : larger_of(a, b);
  };
  Dim result = 0;
  for (const Term& term : polynomial.terms) {
    Dim product = term.coefficient;
    for (const Atom& atom : term.atoms) product = product * value_of_atom(atom);
    result = result + product;
  }
  return result;
}

void append_parts(const Polynomial& polynomial, std::vector<SizePart>& parts);

void append_parts(const Atom& atom, std::vector<SizePart>& parts) {
  using Kind = SizePart::Kind;
  if (atom.kind == Atom::Kind::symbol) return parts.push_back({Kind::symbol, 0, atom.symbol});
  for (const Polynomial& operand : atom.operands) append_parts(operand, parts);
  const Kind kind = atom.kind == Atom::Kind::floor_div ? Kind::floor_div
                    : atom.kind == Atom::Kind::min     ? Kind::smaller
                                                       : Kind::larger;
  parts.push_back({kind});
}

void append_parts(const Term& term, std::vector<SizePart>& parts) {
  const bool needs_coefficient = term.coefficient != 1 || term.atoms.empty();
  if (needs_coefficient) parts.push_back({SizePart::Kind::number, term.coefficient});
  for (size_t i = 0; i < term.atoms.size(); ++i) {
    append_parts(term.atoms[i], parts);
    if (i > 0 || needs_coefficient) parts.push_back({SizePart::Kind::multiply});
  }
}

void append_parts(const Polynomial& polynomial, std::vector<SizePart>& parts) {
  if (polynomial.terms.empty()) parts.push_back({SizePart::Kind::number, 0});
  for (size_t i = 0; i < polynomial.terms.size(); ++i) {
    append_parts(polynomial.terms[i], parts);
    if (i > 0) parts.push_back({SizePart::Kind::add});
  }
}

}  // namespace

Dim::Dim(int64_t number) : kind_(Kind::number), number_(number) {}

Dim Dim::named(std::string symbol) {
  Polynomial polynomial;
  polynomial.terms.push_back({{Atom{Atom::Kind::symbol, std::move(symbol), {}}}, 1});
  return from(std::move(polynomial));
}

Dim Dim::from(expression::Polynomial polynomial) {
  if (polynomial.overflow || count_parts(polynomial) > max_parts) return unknown();
  if (const std::optional<int64_t> number = as_number(polynomial)) return {*number};
  Dim result;
  result.kind_ = Kind::expression;
  result.expression_ = std::make_shared<const expression::Polynomial>(std::move(polynomial));
  return result;
}

expression::Polynomial Dim::polynomial() const { return is_number() ? constant(number_) : *expression_; }

int64_t Dim::number() const {
  INTARSIA_CHECK(is_number());
  return number_;
}

const std::string* Dim::symbol() const {
  if (kind_ != Kind::expression || expression_->terms.size() != 1) return nullptr;
  const Term& term = expression_->terms.front();
  const bool is_symbol =
      term.coefficient == 1 && term.atoms.size() == 1 && term.atoms.front().kind == Atom::Kind::symbol;
  return is_symbol ? &term.atoms.front().symbol : nullptr;
}

std::set<std::string> Dim::symbols() const {
  std::set<std::string> result;
  if (kind_ == Kind::expression) collect_symbols(*expression_, result);
  return result;
}

std::optional<LinearSize> Dim::linear() const {
  if (kind_ != Kind::expression || expression_->terms.size() > 2) return std::nullopt;
  LinearSize size;
  for (const Term& term : expression_->terms) {
    if (term.atoms.empty()) {
      size.rest = term.coefficient;
    } else if (!size.symbol.empty() || term.atoms.size() > 1 ||
               term.atoms.front().kind != Atom::Kind::symbol) {
      return std::nullopt;
    } else {
      size.symbol = term.atoms.front().symbol;
      size.factor = term.coefficient;
    }
  }
  return size;
}

Dim Dim::substitute(const std::map<std::string, Dim>& values) const {
  if (kind_ != Kind::expression) return *this;
  return substitute_in(*expression_, [&](const std::string& symbol) {
    const auto at = values.find(symbol);
    return at == values.end() ? named(symbol) : at->second;
  });
}

std::vector<SizePart> Dim::postfix() const {
  std::vector<SizePart> parts;
  append_parts(polynomial(), parts);
  return parts;
}

std::string Dim::print(const std::function<std::string(const std::string&)>& print_symbol) const {
  if (!is_known()) return "?";
  return print_polynomial(polynomial(), print_symbol);
}

bool Dim::operator==(const Dim& other) const {
  if (kind_ != other.kind_) return false;
  return kind_ == Kind::expression ? *expression_ == *other.expression_ : number_ == other.number_;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.is_known() || !b.is_known()) return a == 0 ? b : b == 0 ? a : Dim::unknown();
  return Dim::from(sum(a.polynomial(), b.polynomial()));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (!a.is_known() || !b.is_known()) return b == 0 ? a : Dim::unknown();
  return Dim::from(sum(a.polynomial(), b.polynomial(), -1));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a == 0 || b == 0) return 0;
  if (!a.is_known() || !b.is_known()) return a == 1 ? b : b == 1 ? a : Dim::unknown();
  return Dim::from(product(a.polynomial(), b.polynomial()));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b == 1) return a;
  if (!a.is_known() || !b.is_known() || (b.is_number() && b.number_ <= 0)) return Dim::unknown();
  Polynomial whole = a.polynomial(), divisor = b.polynomial();
  if (whole.overflow || divisor.overflow) return Dim::unknown();
  const Term common = common_factor(whole, divisor);
  whole = divide_terms(whole, common), divisor = divide_terms(divisor, common);
  if (whole == divisor) return 1;
  const std::optional<int64_t> number = as_number(divisor);
  if (!number) return Dim::from(function(Atom::Kind::floor_div, whole, divisor));
  if (*number < 0) return Dim::unknown();
  const Division parts = divide_by_number(whole, *number);
  if (as_number(parts.rest)) return Dim::from(parts.quotient);
  return Dim::from(sum(function(Atom::Kind::floor_div, parts.rest, divisor), parts.quotient));
}

Dim Dim::extreme(const Dim& a, const Dim& b, bool largest) {
  if (!a.is_known() || !b.is_known()) return unknown();
  Polynomial x = a.polynomial(), y = b.polynomial();
  if (is_at_least(x, y)) return largest ? a : b;
  if (is_at_least(y, x)) return largest ? b : a;
  if (y < x) std::swap(x, y);
  return from(function(largest ? Atom::Kind::max : Atom::Kind::min, std::move(x), std::move(y)));
}

bool usually_greater(const Dim& a, const Dim& b) {
  constexpr int64_t least = 1024;
  if (a.is_number() && b.is_number()) return a.number_ > b.number_;
  const Dim difference = a - b;
  if (difference.kind_ != Dim::Kind::expression) return difference.is_number() && difference.number_ > 0;
  const Dim above_least = substitute_in(*difference.expression_,
                                        [](const std::string& symbol) { return Dim::named(symbol) + least; });
  return above_least.is_known() && is_at_least(above_least.polynomial(), constant(0));
}

bool is_limited(const Dim& limited, const Dim& size) {
  if (limited.is_number() || !limited.is_known() || !size.is_known()) return false;
  return std::ranges::any_of(limited.postfix(), [&](const SizePart& part) {
    return part.kind == SizePart::Kind::number && part.number >= 2 &&
           provably_equal(smaller_of(size, part.number), limited);
  });
}

bool provably_nonnegative(const Dim& a) { return a.is_known() && is_nonnegative(a.polynomial()); }

Dim smaller_of(const Dim& a, const Dim& b) { return Dim::extreme(a, b, false); }
Dim larger_of(const Dim& a, const Dim& b) { return Dim::extreme(a, b, true); }

}  // namespace intarsia
