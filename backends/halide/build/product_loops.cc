#include "backends/halide/build/product_loops.h"

#include <sstream>

namespace intarsia::halide {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using Intrinsic = Halide::Internal::Call;

std::string print(const Stmt& statement) {
  std::ostringstream text;
  text << statement;
  return text.str();
}

/// Puts the values of variables in their places.
class InlineLets : public IRMutator {
 private:
  using IRMutator::visit;
  Stmt visit(const LetStmt* let) override { return mutate(substitute(let->name, let->value, let->body)); }
  Expr visit(const Let* let) override { return mutate(substitute(let->name, let->value, let->body)); }
};

constexpr const char* number_of_pair_name = "intarsia_number_of_pair";

/// Reads a factor, an element of a buffer that a cast widens, or part of one (number_of_pair).
Access read_factor(const Expr& factor) {
  const auto* part = factor.as<Intrinsic>();
  if (part != nullptr && part->name == number_of_pair_name) {
    const auto* pair = part->args[0].as<Load>();
    if (pair == nullptr) refuse_loops("a pair is computed");
    return {pair->name, Halide::BFloat(16), pair->index * 2 + part->args[1]};
  }
  const auto* cast = factor.as<Cast>();
  const auto* load = cast == nullptr ? nullptr : cast->value.as<Load>();
  if (load == nullptr) refuse_loops("a factor is computed");
  return {load->name, load->type, load->index};
}

LoopNest read_nest(const Stmt& body) {
  LoopNest nest;
  for (Stmt at = body; nest.store == nullptr;) {
    if (const auto* loop = at.as<For>()) {
      nest.loops.push_back(loop);
      at = loop->body;
    } else {
      nest.store = at.as<Store>();
      if (nest.store == nullptr) refuse_loops("not loops of a product:\n" + print(body));
    }
  }
  return nest;
}

class ReplaceProducts : public IRMutator {
 public:
  ReplaceProducts(std::string sums, std::function<Stmt(const LoopNest&)> write)
      : sums_(std::move(sums)), write_(std::move(write)) {}

 private:
  using IRMutator::visit;

  Stmt visit(const For* loop) override {
    if (!loop->name.starts_with(sums_ + ".s1.")) return IRMutator::visit(loop);
    const Stmt plain = InlineLets().mutate(Stmt(loop));
    return write_(read_nest(plain));
  }

  std::string sums_;
  std::function<Stmt(const LoopNest&)> write_;
};

}  // namespace

void refuse_loops(const std::string& why) { throw Halide::CompileError("loops of products: " + why); }

Expr Access::stride(const For* loop) const {
  const Expr next = Variable::make(Halide::Int(32), loop->name) + 1;
  const Expr distance = simplify(substitute(loop->name, next, index) - index);
  if (expr_uses_var(distance, loop->name)) refuse_loops("an index is not linear");
  return distance;
}

bool Access::has_stride(const For* loop, int64_t elements) const { return is_const(stride(loop), elements); }

Expr Access::first(const std::vector<const For*>& loops) const {
  Expr at = index;
  for (const For* loop : loops) at = substitute(loop->name, loop->min, at);
  return simplify(at);
}

void replace_products(Halide::Pipeline& pipeline, const std::string& sums,
                      std::function<Stmt(const LoopNest&)> write) {
  pipeline.add_custom_lowering_pass(new ReplaceProducts(sums, std::move(write)));
}

Expr number_of_pair(const Expr& pair, const Expr& place) {
  return Intrinsic::make(Halide::Float(32), number_of_pair_name, {pair, place},
                         Intrinsic::CallType::PureExtern);
}

std::pair<Access, Access> read_factors(const Store* store) {
  const auto* sum = store->value.as<Add>();
  if (sum == nullptr) refuse_loops("not a sum");
  const bool is_first = sum->a.as<Mul>() != nullptr;
  const auto* product = (is_first ? sum->a : sum->b).as<Mul>();
  const auto* before = (is_first ? sum->b : sum->a).as<Load>();
  if (product == nullptr || before == nullptr || before->name != store->name ||
      !equal(before->index, store->index))
    refuse_loops("not a sum of products");
  return {read_factor(product->a), read_factor(product->b)};
}

int64_t extent_of(const For* loop) {
  const auto extent = as_const_int(loop->extent);
  if (!extent) refuse_loops("a loop has no fixed extent");
  return *extent;
}

}  // namespace intarsia::halide
