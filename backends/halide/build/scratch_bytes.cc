#include "backends/halide/build/scratch_bytes.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

/// Converter of Halide's expressions of open sizes; others become unknown.
class ToDim {
 public:
  explicit ToDim(const std::set<std::string>& symbols) : symbols_(symbols) {}

  Dim exact(const Expr& expr) const {
    if (const auto number = ir::as_const_int(expr)) return Dim(*number);
    if (const auto* cast = expr.as<ir::Cast>())
      return cast->type.is_int() && cast->type.bits() >= 32 ? exact(cast->value) : Dim::unknown();
    if (const auto* variable = expr.as<ir::Variable>())
      return symbols_.contains(variable->name) ? Dim::named(variable->name) : Dim::unknown();
    if (const auto* sum = expr.as<ir::Add>()) return exact(sum->a) + exact(sum->b);
    if (const auto* difference = expr.as<ir::Sub>()) return exact(difference->a) - exact(difference->b);
    if (const auto* product = expr.as<ir::Mul>()) return exact(product->a) * exact(product->b);
    if (const auto* least = expr.as<ir::Min>()) return smaller_of(exact(least->a), exact(least->b));
    if (const auto* most = expr.as<ir::Max>()) return larger_of(exact(most->a), exact(most->b));
    // A divisor of 0 counts as 1: Halide's quotient is then 0.
    if (const auto* quotient = expr.as<ir::Div>())
      return floor_div(exact(quotient->a), larger_of(exact(quotient->b), 1));
    return Dim::unknown();
  }

  /// Returns a bound of an expression without variables that it defines itself.
  Dim bound(const Expr& expr) const {
    if (const Dim known = exact(expr); known.is_known()) return known;
    if (const auto* sum = expr.as<ir::Add>()) return bound(sum->a) + bound(sum->b);
    if (const auto* difference = expr.as<ir::Sub>()) return bound(difference->a) - exact(difference->b);
    if (const auto* product = expr.as<ir::Mul>()) return times(bound(product->a), product->b);
    if (const auto* either = expr.as<ir::Select>())
      return larger_of(bound(either->true_value), bound(either->false_value));
    if (const auto* most = expr.as<ir::Max>()) return larger_of(bound(most->a), bound(most->b));
    const auto* least = expr.as<ir::Min>();
    if (least == nullptr) return Dim::unknown();
    const Dim one = bound(least->a), other = bound(least->b);
    return !one.is_known() ? other : !other.is_known() ? one : smaller_of(one, other);
  }

 private:
  static Dim times(const Dim& size, const Expr& factor) {
    const auto number = ir::as_const_int(factor);
    return number && *number >= 0 ? size * *number : Dim::unknown();
  }

  const std::set<std::string>& symbols_;
};

/// Returns the room of an allocation: Halide reads up to a vector past the end; blocks start on cache lines,
/// and a line for the host precedes each.
Dim room_for(const Dim& bytes) { return floor_div(bytes + 192, 64) * 64; }

class Measure : public ir::IRVisitor {
 public:
  Measure(const std::set<std::string>& symbols, const EvenTiles* tiles) : to_dim_(symbols) {
    if (tiles == nullptr) return;
    loops_.push(tiles->count.name(), ir::Interval(0, tiles->extent));
    loops_.push(tiles->tile.name(), ir::Interval(0, Expr(static_cast<int>(tiles->most))));
  }

  ScratchBytes most;

 private:
  using ir::IRVisitor::visit;

  void visit(const ir::LetStmt* op) override {
    lets_.emplace_back(op->name, op->value);
    op->body.accept(this);
    lets_.pop_back();
  }

  void visit(const ir::For* op) override {
    const Expr min = with_lets(op->min);
    const ir::Interval first = ir::bounds_of_expr_in_scope(min, loops_),
                       last =
                           ir::bounds_of_expr_in_scope(ir::simplify(min + with_lets(op->extent) - 1), loops_);
    const ir::ScopedBinding<ir::Interval> bind(loops_, op->name, ir::Interval(first.min, last.max));
    op->body.accept(this);
  }

  void visit(const ir::Allocate* op) override {
    const ScratchBytes before = held_;
    if (op->memory_type != Halide::MemoryType::Stack && op->memory_type != Halide::MemoryType::Register) {
      const int64_t elements = op->constant_allocation_size();
      const Dim bytes = most_elements(*op) * op->type.bytes();
      if (elements > 0) held_.fixed += static_cast<size_t>(room_for(elements * op->type.bytes()).number());
      if (!bytes.is_number() || bytes.number() > 0) held_.all = held_.all + room_for(bytes);
    }
    most.fixed = std::max(most.fixed, held_.fixed);
    most.all = larger_of(most.all, held_.all);
    op->body.accept(this);
    held_ = before;
  }

  /// Replaces variables by what they stand for, so that differences of two that depend on one loop are small.
  Expr with_lets(Expr expr) const {
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let)
      if (ir::expr_uses_var(expr, let->first)) expr = ir::substitute(let->first, let->second, expr);
    return ir::simplify(expr);
  }

  Dim most_elements(const ir::Allocate& op) {
    Dim elements = 1;
    for (const Expr& extent : op.extents) {
      const ir::Interval bounds = ir::bounds_of_expr_in_scope(with_lets(extent), loops_);
      const Dim most = bounds.has_upper_bound()
                           ? to_dim_.bound(ir::simplify(ir::substitute_in_all_lets(ir::simplify(bounds.max))))
                           : Dim::unknown();
      elements = elements * larger_of(most, 0);
    }
    return elements;
  }

  ToDim to_dim_;
  std::vector<std::pair<std::string, Expr>> lets_;  // around what is visited
  ir::Scope<ir::Interval> loops_;
  ScratchBytes held_;
};

}  // namespace

ScratchBytes scratch_bytes(const Halide::Module& module, const std::set<std::string>& symbols,
                           const EvenTiles* tiles, const std::vector<Dim>& routine_blocks) {
  // A parallel loop's body is a function of its own: a thread may hold the caller's blocks and the body's.
  ScratchBytes sum;
  for (const ir::LoweredFunc& function : module.functions()) {
    Measure measure(symbols, tiles);
    function.body.accept(&measure);
    sum.fixed += measure.most.fixed;
    sum.all = sum.all + measure.most.all;
  }
  for (const Dim& bytes : routine_blocks) {
    sum.fixed += static_cast<size_t>(room_for(typical(bytes)).number());
    sum.all = sum.all + room_for(bytes);
  }
  return sum;
}

}  // namespace intarsia::halide
