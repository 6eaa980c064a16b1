// Pooling and local response normalization; global pooling is a reduction.
#include <algorithm>
#include <array>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {

Status require_floats(Rewriter& rewriter) {
  const DType dtype = rewriter.dtype(rewriter.stored_in(0));
  if (compute_dtype(dtype) == DType::f32 || dtype == DType::f64) return {};
  return fail("{} on {} is not supported", rewriter.node().op, dtype_name(dtype));
}

Result<WindowGeometry> window_geometry(Rewriter& r, const Shape& kernel, const SymbolicShape& in,
                                       const SymbolicShape& out) {
  size_t axes = kernel.size();
  WindowGeometry window{kernel, r.attributes().get_ints("strides", std::vector<int64_t>(axes, 1)),
                        r.attributes().get_ints("dilations", std::vector<int64_t>(axes, 1)),
                        to_symbolic(r.attributes().get_ints("pads", Shape(2 * axes, 0)))};
  if (in.size() != axes + 2 || out.size() != in.size() || window.strides.size() != axes ||
      window.dilations.size() != axes || window.pads.size() != 2 * axes)
    return fail("{} with attributes that do not fit rank {}", r.node().op, in.size());
  std::string mode = r.attributes().get_string("auto_pad", "NOTSET");
  for (size_t i = 0; i < axes; ++i) {
    if (kernel[i] < 1 || window.strides[i] < 1 || window.dilations[i] < 1)
      return fail("{} with a kernel, stride or dilation below 1", r.node().op);
    if (mode == "VALID") window.pads[i] = window.pads[i + axes] = 0;
    const int64_t extent = (kernel[i] - 1) * window.dilations[i] + 1;
    if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
      // Without this the number of windows would be 0 where less than a stride is missing.
      TRY(r.require(in[i + 2] + window.pads[i] + window.pads[i + axes] - extent,
                    fmt::format("a window of {} does not fit into axis {}", extent, i + 2)));
      continue;
    }
    const Dim span = (out[i + 2] - 1) * window.strides[i] + extent;
    const Dim total = larger_of(span - in[i + 2], 0);
    window.pads[i] = mode == "SAME_UPPER" ? floor_div(total, 2) : total - floor_div(total, 2);
    window.pads[i + axes] = total - window.pads[i];
  }
  return window;
}

namespace {

Status pool(Rewriter& r) {
  if (has_output(r.node(), 1)) return fail("MaxPool with indices is not supported");
  DType dtype = r.dtype(r.in(0));
  if (r.node().op == "AveragePool" && dtype != DType::f32 && dtype != DType::f64)
    return fail("AveragePool on {} is not supported", dtype_name(dtype));
  WindowGeometry window =
      TRY(window_geometry(r, r.attributes().get_ints("kernel_shape"), r.sizes(r.in(0)), r.out_sizes()));
  if (element_count(window.kernel) > 1024)
    return fail("{} over {} elements is not supported", r.node().op, element_count(window.kernel));
  const PoolAttributes attributes{window.kernel,
                                  window.strides,
                                  window.dilations,
                                  window.pads,
                                  r.attributes().get_int("count_include_pad", 0) != 0,
                                  std::nullopt};
  const CoreOp op = r.node().op == "AveragePool" ? CoreOp::average_pool : CoreOp::max_pool;
  r.set_output(0, r.emit(op, {r.in(0)}, dtype, r.out_sizes(), attributes));
  return {};
}

Status global_pool(Rewriter& r) {
  std::vector<int64_t> axes(static_cast<size_t>(r.rank(r.in(0)) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  bool mean = r.node().op == "GlobalAveragePool";
  const SymbolicShape in = r.sizes(r.in(0));
  for (int64_t axis : axes)
    TRY(r.require(in[static_cast<size_t>(axis)] - 1, fmt::format("axis {} is empty", axis)));
  if (mean && !is_float(r.dtype(r.in(0))))
    return fail("GlobalAveragePool on {}", dtype_name(r.dtype(r.in(0))));
  // The maximum skips NaN, as MaxPool does.
  const ReductionAttributes attributes{.axes = axes, .skip_nan = !mean};
  r.set_output(0, r.emit(mean ? CoreOp::reduce_mean : CoreOp::reduce_max, {r.in(0)}, r.out_dtype(),
                         r.out_sizes(), attributes));
  return {};
}

Status lrn(Rewriter& r) {
  if (r.dtype(r.in(0)) != DType::f32) return fail("LRN on {} is not supported", dtype_name(r.dtype(r.in(0))));
  const LrnAttributes otherwise;
  const LrnAttributes attributes{
      r.attributes().get_int("size", otherwise.size), r.attributes().get_float("alpha", otherwise.alpha),
      r.attributes().get_float("beta", otherwise.beta), r.attributes().get_float("bias", otherwise.bias)};
  r.set_output(0, r.emit(CoreOp::lrn, {r.in(0)}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

constexpr std::array window_rule_list = std::to_array<RuleEntry>({
    {"MaxPool", pool},
    {"AveragePool", pool},
    {"GlobalAveragePool", global_pool},
    {"GlobalMaxPool", global_pool},
    {"LRN", lrn},
});

}  // namespace

std::span<const RuleEntry> window_rules() { return window_rule_list; }

}  // namespace intarsia::halide
