// Tables of a Resize along an axis of open size.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/core/resize_taps.h"

namespace intarsia::halide {
namespace {

/// Arithmetic of generated code, in f64 as at compile time.
struct CodeMath {
  using Number = Expr;
  static Expr floor(const Expr& x) { return Halide::floor(x); }
  static Expr choose(const Expr& condition, const Expr& a, const Expr& b) {
    return Halide::select(condition, a, b);
  }
};

Expr number(const KernelBuilder& b, const Dim& size) { return Halide::cast<double>(b.size(size)); }

}  // namespace

Expr build_resize_table(const KernelBuilder& b, const Node& node, const Exprs& index) {
  const ResizeAttributes resize = attributes_of<ResizeAttributes>(node);
  ResizedAxis<CodeMath> axis{number(b, resize.in), number(b, resize.out), Expr()};
  axis.scale = resize.scale ? Expr(static_cast<double>(*resize.scale)) : axis.out / axis.in;
  const Expr last = b.size(resize.in - 1),
             position = source_position<CodeMath>(resize.transform, axis, Halide::cast<double>(index.back()));
  const auto inside = [&](const Expr& place) {
    return Halide::clamp(Halide::cast<int>(Halide::strict_float(place)), 0, last);
  };
  if (!resize.rounding.empty()) return inside(nearest_place<CodeMath>(resize.rounding, position));
  const bool cubic = b.sizes(node.outputs[0])[0] == 4;
  const ResizeTaps<CodeMath> taps =
      resize_taps<CodeMath>(axis, position, cubic, resize.cubic_a, resize.exclude_outside);
  if (op_of(node) == CoreOp::resize_places) return inside(Halide::mux(index[0], taps.places));
  return Halide::cast<float>(Halide::strict_float(Halide::mux(index[0], taps.weights)));
}

}  // namespace intarsia::halide
