#include "backends/halide/tune/choose_schedules.h"

#include <algorithm>
#include <map>

#include "backends/halide/schedule/recurrence.h"
#include "backends/halide/schedule/winograd.h"
#include "backends/halide/tune/tune_kernels.h"

namespace intarsia::halide {
namespace {

using Algorithm = ContractionSchedule::Algorithm;

/// Returns the number of tiles of each algorithm to try. An OpenCL driver builds each kernel once more,
/// slowly.
size_t max_tiles(const Tuner* tuner, const Isa& isa) {
  if (tuner == nullptr) return 1;
  if (tuner->effort == Tune::full) return 16;
  if (isa.device == KernelDevice::cuda) return 4;
  return isa.is_offloaded() ? 2 : 3;
}

bool is_depthwise(Algorithm algorithm) {
  return algorithm == Algorithm::depthwise || algorithm == Algorithm::depthwise_in_place;
}

/// Returns how many neighboring input channels one instruction multiplies and sums: two of bf16, four of 8
/// bits, or two of 8 bits as 16; or what the code of a microcontroller multiplies at once.
int64_t dot_of(const Kernel& kernel, const ContractionSchedule& schedule, const ContractionSizes& sizes) {
  const Node& anchor = kernel.body.node(kernel.anchor);
  const auto has = [&](size_t input, DType dtype) {
    return kernel.body.value(anchor.inputs[input]).type.dtype == dtype;
  };
  if (schedule.algorithm != Algorithm::direct || kernel.isa.is_offloaded()) return 1;
  if (has(0, DType::u8)) {
    const bool fills_vectors = schedule.tile.lanes * 4 == kernel.isa.vector_bytes;
    const bool has_four = kernel.isa.has_dot_products() && (fills_vectors || !kernel.isa.calls_dot_tiles());
    const int64_t at_once = neighbors_at_once(kernel.isa, DType::u8, sizes, kernel.weights().has_value());
    const int64_t dot = has_four ? 4 : at_once > 0 ? at_once : kernel.isa.sums_pairs() ? 2 : 1;
    return sizes.group == 1 || sizes.depth % dot == 0 ? dot : 1;
  }
  if (schedule.on_amx) return 2;
  const bool are_bf16 = schedule.rounds_to_bf16() || (has(0, DType::bf16) && has(1, DType::bf16));
  return are_bf16 && sizes.depth % 2 == 0 && kernel.isa.has_bf16_products() ? 2 : 1;
}

/// Returns the axes of packed weights outside of panels: the group of a convolution, or the batch of
/// matrices, 1 if it is one matrix.
Shape batch_of_weights(const Kernel& kernel, size_t weights_input) {
  const Node& anchor = kernel.body.node(kernel.anchor);
  if (op_of(anchor) != CoreOp::matmul) return {contraction_sizes(kernel.body, anchor).group};
  Shape batch = shape_of(kernel.body, kernel.body.inputs[weights_input]);
  batch.resize(batch.size() - 2);
  return element_count(batch) == 1 ? Shape{1} : batch;
}

/// Returns the kernel with its weights in panels as wide as the register tile, or in one if panels would
/// overlap, or if the items of a group, side by side, read neighboring channels.
Kernel with_schedule(Kernel kernel, const ContractionSchedule& schedule) {
  auto& [weights_input, chosen, packing] = std::get<ContractionDetails>(kernel.details);
  chosen = schedule;
  if (!weights_input) {
    // Only matrices of integers, whose depth is a number, are packed for dot products at run time.
    const Node& anchor = kernel.body.node(kernel.anchor);
    if (kernel.body.value(anchor.inputs[1]).type.dtype == DType::i8)
      packing.dot = dot_of(kernel, schedule, contraction_sizes(kernel.body, anchor));
    return kernel;
  }
  const ContractionSizes sizes = contraction_sizes(kernel.body, kernel.body.node(kernel.anchor));
  const bool depthwise = is_depthwise(schedule.algorithm);
  const int64_t panel = schedule.tile.panel;
  if (depthwise)
    packing = {sizes.group, 1};
  else if (schedule.tile.exact && !kernel.isa.runs_groups())
    packing = {panel, sizes.channels / panel};
  else
    packing = {sizes.channels, 1};
  packing.dot = dot_of(kernel, schedule, sizes);
  Shape packed = depthwise ? Shape{1} : batch_of_weights(kernel, *weights_input);
  packed.push_back(packing.panels);
  if (is_winograd(schedule.algorithm))
    packed.insert(packed.end(), 2, winograd_of(schedule.algorithm).points());
  else
    packed.insert(packed.end(), sizes.kernel.begin(), sizes.kernel.end());
  const int64_t steps = depth_steps(schedule);
  const int64_t dots = (sizes.depth + packing.dot * steps - 1) / (packing.dot * steps) * steps;
  const Node& anchor = kernel.body.node(kernel.anchor);
  const bool is_product = op_of(anchor) == CoreOp::matmul && packing.dot * steps == 1;
  const int64_t rows = is_product ? attributes_of<MatMulAttributes>(anchor).rows_of(sizes.depth) : dots;
  packed.insert(packed.end(), {rows, packing.panel * packing.dot});
  Argument& weights = kernel.inputs[*weights_input];
  ValueType& type = kernel.body.value(kernel.body.inputs[*weights_input]).type;
  if (schedule.rounds()) weights.dtype = type.dtype = schedule.rounds_to;
  weights.shape = to_symbolic(packed);
  weights.strides = row_major_strides(weights.shape);
  type.shape = weights.shape;
  return kernel;
}

/// Checks whether both products of an attention are of f32; a mask may have another type.
bool multiplies_f32(const Kernel& kernel) {
  const Graph& body = kernel.body;
  const AttentionNodes& nodes = kernel.attention().nodes;
  const auto is_f32 = [&](ValueId value) { return body.value(value).type.dtype == DType::f32; };
  return std::ranges::all_of(body.node(nodes.scores).inputs, is_f32) &&
         std::ranges::all_of(body.node(nodes.product).inputs, is_f32);
}

/// Checks whether the number of pixels, or rows, of a contraction is open.
bool has_open_pixels(const Kernel& kernel) {
  const Node& anchor = kernel.body.node(kernel.anchor);
  const SymbolicShape& out = sizes_of(kernel.body, anchor.outputs[0]);
  if (op_of(anchor) == CoreOp::matmul) return !out[out.size() - 2].is_number();
  return std::any_of(out.begin() + 2, out.end(), [](const Dim& size) { return !size.is_number(); });
}

}  // namespace

std::vector<Kernel> kernel_variants(const Kernel& of, const CompileOptions& options) {
  const Kernel kernel = of.with_typical_sizes();
  const size_t most = max_tiles(options.tuner, kernel.isa);
  std::vector<Kernel> variants;
  const auto add = [&](const KernelDetails& details) {
    variants.push_back(kernel);
    variants.back().details = details;
  };
  if (kernel.form == Form::contraction) {
    const bool direct_only = options.exact_math || options.prefers_size || kernel.isa.is_offloaded();
    const ScheduleSpace space{kernel.weights().has_value(),
                              direct_only,
                              options.rounds_to,
                              options.prefers_size,
                              has_open_pixels(of),
                              !of.symbols.empty() && !of.weights(),
                              most,
                              kernel.threads};
    for (const ContractionSchedule& schedule :
         contraction_schedules(kernel.body, kernel.body.node(kernel.anchor), kernel.isa, space))
      variants.push_back(with_schedule(kernel, schedule));
  } else if (kernel.form == Form::attention) {
    const AttentionNodes& nodes = kernel.attention().nodes;
    for (const AttentionSchedule& schedule : attention_schedules(
             attention_sizes(kernel.body, nodes), kernel.isa, most,
             options.rounds_to == DType::bf16 && of.symbols.empty() && multiplies_f32(kernel)))
      add(AttentionDetails{nodes, schedule});
  } else if (kernel.form == Form::recurrence) {
    for (const ContractionTile& tile :
         recurrence_tiles(kernel.body, kernel.body.node(kernel.anchor), kernel.isa, most))
      add(RecurrenceDetails{tile});
  } else {
    variants.push_back(kernel);
  }
  return variants;
}

namespace {

/// Maximum number of kernels that are tried one after the other in case code for them is too expensive to
/// generate.
constexpr ptrdiff_t max_candidates = 3;

/// Returns the variant that is cheapest to generate: one thread, and vectors of four floats, which unroll to
/// the least code; nullopt if the kernel already is that one.
std::optional<Kernel> plain_variant(const Kernel& kernel) {
  Kernel plain = kernel;
  plain.isa = *make_isa(base_level(arch_of_level(kernel.isa.level)), kernel.isa.device);
  plain.threads = 1;
  if (plain.isa.level == kernel.isa.level && kernel.threads == 1) return std::nullopt;
  CompileOptions options;
  options.exact_math = true;
  return kernel_variants(plain, options).front();
}

/// Returns the fastest of some kernels with other ways to use threads: only these, since generating code
/// takes longer than all else.
std::vector<Kernel> threading_variants(std::span<const Kernel> sorted, const CompileOptions& options) {
  std::vector<Kernel> variants;
  if (options.threads < 2 || sorted[0].isa.is_offloaded()) return variants;
  const bool tries_all = options.tuner->effort == Tune::full || options.tuner->tries_all;
  const size_t most = tries_all ? sorted.size() : 1;
  for (const Kernel& kernel : sorted.first(most)) {
    variants.push_back(kernel);
    variants.back().threads = 1;
    if (kernel.form != Form::contraction || is_depthwise(kernel.contraction().schedule.algorithm)) continue;
    variants.push_back(kernel);
    std::get<ContractionDetails>(variants.back().details).schedule.threads_share_rows = false;
  }
  return variants;
}

}  // namespace

namespace {

/// Returns the kernel for open sizes that computes in the way that was chosen for typical ones.
Kernel with_open_sizes(const Kernel& chosen, Kernel open) {
  if (open.symbols.empty()) return chosen;
  open.isa = chosen.isa;
  open.threads = chosen.threads;
  open.details = chosen.details;
  if (const std::optional<size_t> weights = chosen.weights()) {
    open.inputs[*weights] = chosen.inputs[*weights];
    open.body.value(open.body.inputs[*weights]).type = chosen.body.value(chosen.body.inputs[*weights]).type;
  }
  const bool has_open_channels =
      open.form == Form::contraction && op_of(open.body.node(open.anchor)) == CoreOp::matmul &&
      !sizes_of(open.body, open.body.node(open.anchor).outputs[0]).back().is_number();
  ContractionTile* tile =
      has_open_channels ? &std::get<ContractionDetails>(open.details).schedule.tile : nullptr;
  // Work items pack no weights, so that panels cannot be filled up: each has one channel.
  if (tile != nullptr && open.isa.is_offloaded())
    *tile = {1, 1, tile->pixels, true};
  else if (tile != nullptr)
    tile->exact = false;
  return open;
}

}  // namespace

Status choose_schedules(std::vector<Call>& calls, Emitter& emitter, const EmitOptions& emit,
                        const CompileOptions& options) {
  // Numbers of distinct kernels, by their text for typical sizes and whether sizes are open.
  std::map<std::pair<std::string, bool>, size_t> numbers;
  std::vector<size_t> number_of_call;
  std::vector<std::vector<Kernel>> variants;
  std::vector<std::optional<Kernel>> plain;
  for (const Call& call : calls) {
    const Kernel kernel = call.kernel.with_typical_sizes();
    auto [at, is_new] = numbers.try_emplace({kernel.text(), !call.kernel.symbols.empty()}, variants.size());
    if (is_new) {
      variants.push_back(kernel_variants(call.kernel, options));
      plain.push_back(plain_variant(kernel));
    }
    number_of_call.push_back(at->second);
  }
  const auto more_of = [&](std::span<const Kernel> fastest) { return threading_variants(fastest, options); };
  if (options.tuner != nullptr) TRY(tune_kernels(variants, more_of, emitter, emit, options));
  for (size_t i = 0; i < variants.size(); ++i) {
    if (std::ssize(variants[i]) > max_candidates)
      variants[i].erase(variants[i].begin() + max_candidates, variants[i].end());
    if (plain[i]) variants[i].push_back(std::move(*plain[i]));
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    const std::vector<Kernel>& ranked = variants[number_of_call[c]];
    const Kernel open = std::move(calls[c].kernel);
    calls[c].kernel = with_open_sizes(ranked.front(), open);
    for (const Kernel& alternative : std::span(ranked).subspan(1))
      calls[c].alternatives.push_back(with_open_sizes(alternative, open));
  }
  return {};
}

}  // namespace intarsia::halide
