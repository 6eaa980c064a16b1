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

  Dim operator()(const Expr& expr) const {
    if (const auto number = ir::as_const_int(expr)) return Dim(*number);
    if (const auto* cast = expr.as<ir::Cast>())
      return cast->type.is_int() && cast->type.bits() >= 32 ? (*this)(cast->value) : Dim::unknown();
    if (const auto* variable = expr.as<ir::Variable>())
      return symbols_.contains(variable->name) ? Dim::named(variable->name) : Dim::unknown();
    if (const auto* sum = expr.as<ir::Add>()) return (*this)(sum->a) + (*this)(sum->b);
    if (const auto* difference = expr.as<ir::Sub>()) return (*this)(difference->a) - (*this)(difference->b);
    if (const auto* product = expr.as<ir::Mul>()) return (*this)(product->a) * (*this)(product->b);
    if (const auto* least = expr.as<ir::Min>()) return smaller_of((*this)(least->a), (*this)(least->b));
    if (const auto* most = expr.as<ir::Max>()) return larger_of((*this)(most->a), (*this)(most->b));
    if (const auto* quotient = expr.as<ir::Div>()) return divided((*this)(quotient->a), quotient->b);
    return Dim::unknown();
  }

 private:
  /// Divides by a number; other divisors may be 0 for some sizes.
  static Dim divided(const Dim& size, const Expr& by) {
    const auto number = ir::as_const_int(by);
    return number && *number > 0 ? floor_div(size, *number) : Dim::unknown();
  }

  const std::set<std::string>& symbols_;
};

/// Returns the room of an allocation: Halide reads up to a vector past the end; blocks start on cache lines,
/// and a line for the host precedes each.
Dim room_for(const Dim& bytes) { return floor_div(bytes + 192, 64) * 64; }

class Measure : public ir::IRVisitor {
 public:
  explicit Measure(const std::set<std::string>& symbols) : to_dim_(symbols) {}

  ScratchBytes most;

 private:
  using ir::IRVisitor::visit;

  void visit(const ir::LetStmt* op) override {
    const ir::Interval values = ir::bounds_of_expr_in_scope(op->value, bounds_);
    const ir::ScopedBinding<ir::Interval> bind(bounds_, op->name, values);
    op->body.accept(this);
  }

  void visit(const ir::For* op) override {
    const ir::Interval first = ir::bounds_of_expr_in_scope(op->min, bounds_),
                       last = ir::bounds_of_expr_in_scope(op->min + op->extent - 1, bounds_);
    const ir::ScopedBinding<ir::Interval> bind(bounds_, op->name, ir::Interval(first.min, last.max));
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

  Dim most_elements(const ir::Allocate& op) {
    Dim elements = 1;
    for (const Expr& extent : op.extents) {
      const ir::Interval bounds = ir::bounds_of_expr_in_scope(extent, bounds_);
      const Dim most = bounds.has_upper_bound() ? to_dim_(ir::simplify(bounds.max)) : Dim::unknown();
      elements = elements * larger_of(most, 0);
    }
    return elements;
  }

  ToDim to_dim_;
  ir::Scope<ir::Interval> bounds_;
  ScratchBytes held_;
};

}  // namespace

ScratchBytes scratch_bytes(const Halide::Module& module, const std::set<std::string>& symbols) {
  // A parallel loop's body is a function of its own: a thread may hold the caller's blocks and the body's.
  ScratchBytes sum;
  for (const ir::LoweredFunc& function : module.functions()) {
    Measure measure(symbols);
    function.body.accept(&measure);
    sum.fixed += measure.most.fixed;
    sum.all = sum.all + measure.most.all;
  }
  return sum;
}

}  // namespace intarsia::halide
