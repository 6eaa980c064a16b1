#include "backends/halide/tune/tune_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/halide/emit/kernel_costs.h"
#include "backends/halide/emit/make_region.h"
#include "backends/halide/schedule/kernel_name.h"

namespace intarsia::halide {
namespace {

/// Ratio of times below which a variant replaces the analytic choice.
constexpr double noise = 0.98;

/// Limits of kernels timed together; an interrupted compile loses at most one batch.
constexpr size_t batch_variants = 48;
constexpr size_t batch_bytes = size_t{512} << 20;

/// Steps of a recurrence that are timed together.
constexpr int64_t timed_steps = 16;

size_t bytes_of(const FixedArgument& argument) {
  int64_t last = 0;
  for (size_t i = 0; i < argument.shape.size(); ++i) last += (argument.shape[i] - 1) * argument.strides[i];
  return dtype_bytes(argument.dtype, static_cast<size_t>(last + 1));
}

/// Separate region of kernels that run one after the other. Weights are constants that variants of equal type
/// and shape share; everything else is read from one piece of memory and written to another.
class Batch {
 public:
  void add(const Kernel& kernel, const EmittedKernel& code, CostKey key) {
    emitted_.push_back(code);
    Call call;
    call.kernel = kernel;
    // A step finds its weights where the step before left them.
    if (kernel.form == Form::recurrence) call.times = timed_steps;
    kernels_.push_back({std::move(key), code.symbol, call.times.number(), {}});
    calls_.push_back(std::move(call));
    std::vector<Place> places;
    size_t inputs = 0;
    std::vector<ByteRange>& read = uses_.emplace_back().read;
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const FixedArgument input(kernel.inputs[i]);
      if (kernel.weights() == i) {
        places.push_back({Where::constant, constant(input)});
      } else {
        places.push_back({Where::workspace, 0, static_cast<int64_t>(inputs)});
        read.push_back({inputs, inputs + bytes_of(input)});
        inputs += rounded(bytes_of(input));
      }
    }
    places.emplace_back();
    memory_.places.push_back(std::move(places));
    input_bytes_ = std::max(input_bytes_, inputs);
    output_bytes_ = std::max(output_bytes_, rounded(bytes_of(FixedArgument(kernel.output))));
  }

  /// Returns the time that each kernel takes.
  Result<std::vector<Timing>> time(const CompileOptions& options) {
    for (size_t i = 0; i < calls_.size(); ++i) {
      memory_.places[i].back().offset = static_cast<int64_t>(input_bytes_);
      uses_[i].written = {input_bytes_, input_bytes_ + bytes_of(FixedArgument(calls_[i].kernel.output))};
      kernels_[i].tensors = tensors_of(i);
    }
    memory_.workspace_bytes = input_bytes_ + output_bytes_;
    CompileOptions nameless = options;
    nameless.keep_names = false;
    const CompiledRegion region = make_region({}, {}, calls_, emitted_, std::move(memory_), nameless, {});
    std::vector<Timing> times =
        TRY(options.tuner->time_kernels({region, uses_, kernels_}, options.timed_on, options.threads));
    INTARSIA_CHECK(times.size() == calls_.size());
    return times;
  }

 private:
  /// Rounds up, as kernels may read up to a vector past the end.
  static size_t rounded(size_t bytes) { return (bytes + 127) / 64 * 64; }

  std::vector<KernelTensor> tensors_of(size_t call) const {
    const std::vector<Place>& places = memory_.places[call];
    std::vector<KernelTensor> tensors;
    for (ArgumentForm& form : argument_forms(calls_[call].kernel, emitted_[call].output)) {
      const Place& place = places[tensors.size()];
      const bool is_constant = place.where == Where::constant;
      tensors.push_back({form.dtype, std::move(form.extents), std::move(form.strides), is_constant,
                         is_constant ? place.index : static_cast<size_t>(place.offset.number())});
    }
    return tensors;
  }

  size_t constant(const FixedArgument& argument) {
    auto [at, is_new] = constants_.try_emplace({argument.dtype, argument.shape}, memory_.constants.size());
    if (is_new) memory_.constants.emplace_back(argument.dtype, argument.shape);
    return at->second;
  }

  std::vector<Call> calls_;
  std::vector<EmittedKernel> emitted_;   // code of the calls
  std::vector<KernelBatch::Uses> uses_;  // uses of the calls
  std::vector<TimedKernel> kernels_;     // the same kernels for other callers
  MemoryPlan memory_;
  std::map<std::pair<DType, Shape>, size_t> constants_;
  size_t input_bytes_ = 0, output_bytes_ = 0;
};

std::vector<CostKey> joined(const std::vector<std::vector<CostKey>>& lists) {
  std::vector<CostKey> all;
  for (const std::vector<CostKey>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Kernel and its code.
struct Made {
  const Kernel* kernel;
  const EmittedKernel* code;
};

size_t weight_bytes(const Kernel& kernel) {
  return kernel.weights() ? bytes_of(FixedArgument(kernel.inputs[*kernel.weights()])) : 0;
}

class Times {
 public:
  Times(Emitter& emitter, const EmitOptions& emit, const CompileOptions& options)
      : emitter_(emitter), emit_(emit), options_(options), tuner_(*options.tuner) {}

  Status measure(const std::vector<std::vector<Kernel>>& variants) {
    const std::vector<const Kernel*> missing = recall(variants);
    options_.progress.expect(static_cast<double>(missing.size()));
    for (size_t done = 0; done < missing.size() && tuner_.may_go_on();) {
      const size_t count = std::min(batch_variants, missing.size() - done);
      TRY(measure_some(std::span(missing).subspan(done, count)));
      done += count;
    }
    for (const Kernel* kernel : missing)
      if (CostKey key = cost_key(*kernel, options_); !times_.contains(key)) untimed_.insert(std::move(key));
    return {};
  }

  /// Returns the number of variants whose times are not known.
  int untimed() const { return static_cast<int>(untimed_.size()); }

  /// Returns the time in nanoseconds; nullopt if it is not known.
  std::optional<int64_t> of(const Kernel& kernel) const {
    const auto at = times_.find(cost_key(kernel, options_));
    return at == times_.end() ? std::nullopt : std::optional(at->second.timing.nanoseconds);
  }

 private:
  std::vector<CostKey> keys_of(const std::vector<Kernel>& variants) const {
    std::vector<CostKey> keys;
    for (const Kernel& variant : variants) keys.push_back(cost_key(variant, options_));
    return keys;
  }

  /// Takes the times that are known. Returns the kernels left to measure: first variants first, then the
  /// second ones, so that those of one kernel are far apart.
  std::vector<const Kernel*> recall(const std::vector<std::vector<Kernel>>& variants) {
    std::vector<std::vector<CostKey>> rivals;
    for (const std::vector<Kernel>& kernel : variants)
      rivals.push_back(kernel.size() > 1 ? keys_of(kernel) : std::vector<CostKey>());
    std::map<CostKey, Cost> known = tuner_.costs->find(joined(rivals));
    for (const auto& [key, cost] : known) tuner_.remembered += !times_.contains(key);
    known.merge(times_);
    times_ = std::move(known);
    std::set<CostKey> missing;
    for (const std::vector<CostKey>& of_kernel : rivals)
      for (CostKey& key : find_incomparable(of_kernel, times_, tuner_.probe)) missing.insert(std::move(key));
    for (const CostKey& key : missing) tuner_.remembered -= static_cast<int>(times_.erase(key));
    std::vector<const Kernel*> kernels;
    for (size_t v = 0; !missing.empty(); ++v)
      for (size_t k = 0; k < variants.size(); ++k)
        if (v < rivals[k].size() && missing.erase(rivals[k][v]) > 0) kernels.push_back(&variants[k][v]);
    return kernels;
  }

  Status measure_some(std::span<const Kernel* const> kernels) {
    const Progress progress = options_.progress.part(static_cast<double>(kernels.size()));
    progress.expect(4);  // generating the code takes longer than timing it
    const auto outcomes = TRY(emitter_.emit(kernels, {false, emit_.cpu_seconds, progress.part(3)}, options_));
    std::vector<Made> made;
    size_t bytes = 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (outcomes[i]->kind == CodegenOutcome::Kind::made) {
        made.push_back({kernels[i], &outcomes[i]->kernel});
        bytes += weight_bytes(*kernels[i]);
      } else {
        times_[cost_key(*kernels[i], options_)] = {};  // timing is `never`
      }
      if (made.empty() || (bytes <= batch_bytes && i + 1 < kernels.size())) continue;
      TRY(remember(made, TRY(time_together(made))));
      made.clear();
      bytes = 0;
    }
    progress.did("tune");
    return {};
  }

  /// Times kernels together. A driver may refuse one: then each is tried alone, and those that fail never
  /// run.
  Result<std::vector<Timing>> time_together(std::span<const Made> made) {
    Batch batch;
    for (const auto& [kernel, code] : made) batch.add(*kernel, *code, cost_key(*kernel, options_));
    Result<std::vector<Timing>> times = batch.time(options_);
    const bool is_device = options_.timed_on != "cpu";
    if (times || !is_device || times.error().kind == ErrorKind::cancelled) return times;
    if (made.size() == 1) return std::vector<Timing>(1);
    std::vector<Timing> alone;
    for (size_t i = 0; i < made.size(); ++i) alone.push_back(TRY(time_together(made.subspan(i, 1)))[0]);
    return alone;
  }

  Status remember(const std::vector<Made>& made, const std::vector<Timing>& timings) {
    const Cost now = cost_measured_now(tuner_.probe());
    std::vector<std::pair<CostKey, Cost>> rows;
    for (size_t i = 0; i < made.size(); ++i) {
      rows.emplace_back(cost_key(*made[i].kernel, options_), now);
      rows.back().second.timing = timings[i];
    }
    tuner_.costs->add(rows);
    tuner_.measured += static_cast<int>(rows.size());
    tuner_.disturbed += static_cast<int>(std::ranges::count_if(timings, &Timing::is_disturbed));
    times_.insert(rows.begin(), rows.end());
    return {};
  }

  Emitter& emitter_;
  const EmitOptions& emit_;
  const CompileOptions& options_;
  Tuner& tuner_;
  std::map<CostKey, Cost> times_;
  std::set<CostKey> untimed_;
};

/// Returns the key by which variants are compared: the analytic choice, which is the first, leads by the
/// noise; a variant that was not measured comes after those that were.
double rank_of(const std::vector<Kernel>& variants, size_t number, const Times& times) {
  const std::optional<int64_t> time = times.of(variants[number]);
  if (!time) return number == 0 ? 0 : static_cast<double>(never) / 2;
  return static_cast<double>(*time) * (number == 0 ? noise : 1);
}

void sort_by_time(std::vector<Kernel>& variants, const Times& times) {
  std::vector<std::pair<double, size_t>> order;
  for (size_t v = 0; v < variants.size(); ++v)
    if (times.of(variants[v]) != never) order.emplace_back(rank_of(variants, v, times), v);
  if (order.empty()) return;
  std::ranges::sort(order);
  std::vector<Kernel> sorted;
  for (const auto& [rank, v] : order) sorted.push_back(std::move(variants[v]));
  variants = std::move(sorted);
}

}  // namespace

Status tune_kernels(std::vector<std::vector<Kernel>>& variants, const MoreVariants& more_of, Emitter& emitter,
                    const EmitOptions& emit, const CompileOptions& options) {
  Times times(emitter, emit, options);
  TRY(times.measure(variants));
  for (std::vector<Kernel>& kernel : variants) {
    sort_by_time(kernel, times);
    std::ranges::move(more_of(kernel), std::back_inserter(kernel));
  }
  TRY(times.measure(variants));
  for (std::vector<Kernel>& kernel : variants) sort_by_time(kernel, times);
  options.tuner->untimed += times.untimed();
  return {};
}

}  // namespace intarsia::halide
