#include "backends/halide/build/writes_once.h"

#include <map>

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::Internal::Split;

bool is_guarded(TailStrategy tail) {
  return tail == TailStrategy::GuardWithIf || tail == TailStrategy::Predicate;
}

}  // namespace

bool writes_once(const BuiltKernel& kernel) {
  const Halide::Internal::Function out = kernel.output.function();
  const Shape sizes = fixed_sizes(kernel.output_argument.shape);
  std::map<std::string, int64_t> extents;
  for (size_t i = 0; i < out.args().size(); ++i) extents[out.args()[i]] = sizes[i];
  for (const Split& split : out.definition().schedule().splits()) {
    const int64_t extent = extents.at(split.old_var), factor = *Halide::Internal::as_const_int(split.factor);
    if (extent % factor != 0 && !is_guarded(split.tail)) return false;
    extents[split.outer] = (extent + factor - 1) / factor;
    extents[split.inner] = factor;
  }
  return true;
}

}  // namespace intarsia::halide
