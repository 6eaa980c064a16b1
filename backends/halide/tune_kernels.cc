#include "backends/halide/tune_kernels.h"

#include <algorithm>
#include <map>

#include "backends/halide/emit_objects.h"
#include "backends/halide/encode_plan.h"
#include "backends/halide/glue_object.h"

namespace intarsia::halide {
namespace {

/// A variant must be this much faster than the analytic choice to take its place.
constexpr double noise = 0.98;

/// What is timed together; an interrupted compile loses one batch at most.
constexpr size_t batch_variants = 48;
constexpr size_t batch_bytes = size_t{512} << 20;

/// Steps of a recurrence that are timed together.
constexpr int64_t timed_steps = 16;

/// To be raised with every change of the code that is made for a kernel's text: times of other code are worth nothing.
constexpr int code_generation = 8;

/// A kernel that runs in one thread takes longer where others share the work, as it finds its inputs in their caches.
std::string key_of(const Kernel& kernel, const Isa& isa, const CompileOptions& options) {
  return fmt::format("halide {} {} {} threads {} {}", INTARSIA_HALIDE_VERSION, code_generation, isa.level, options.threads,
                     kernel.text());
}

size_t bytes_of(const Argument& argument) {
  int64_t last = 0;
  for (size_t i = 0; i < argument.shape.size(); ++i) last += (argument.shape[i] - 1) * argument.strides[i];
  return dtype_bytes(argument.dtype, static_cast<size_t>(last + 1));
}

/// Kernels one after the other as a region of its own. Weights are constants that variants of equal shape share; all
/// else is read from one piece of memory and written to another.
class Batch {
 public:
  void add(const Kernel& kernel) {
    Call call;
    call.kernel = kernel;
    // A step finds its weights where the step before left them.
    if (kernel.form == Form::recurrence) call.times = timed_steps;
    calls_.push_back(std::move(call));
    std::vector<Place> places;
    size_t inputs = 0;
    std::vector<ByteRange>& read = uses_.emplace_back().read;
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const Argument& input = kernel.inputs[i];
      if (kernel.weights == i) {
        places.push_back({Where::constant, constant(input), 0});
      } else {
        places.push_back({Where::workspace, 0, inputs});
        read.push_back({inputs, inputs + bytes_of(input)});
        inputs += rounded(bytes_of(input));
      }
    }
    places.push_back({Where::workspace, 0, 0});
    memory_.places.push_back(std::move(places));
    input_bytes_ = std::max(input_bytes_, inputs);
    output_bytes_ = std::max(output_bytes_, rounded(bytes_of(kernel.output)));
  }

  bool is_full() const { return calls_.size() >= batch_variants || constant_bytes_ > batch_bytes; }
  bool is_empty() const { return calls_.empty(); }

  Result<std::vector<int64_t>> time(const Isa& isa, const CompileOptions& options) {
    for (size_t i = 0; i < calls_.size(); ++i) {
      memory_.places[i].back().offset = input_bytes_;
      uses_[i].written = {input_bytes_, input_bytes_ + bytes_of(calls_[i].kernel.output)};
    }
    memory_.workspace_bytes = input_bytes_ + output_bytes_;
    std::vector<const Kernel*> kernels;
    for (const Call& call : calls_) kernels.push_back(&call.kernel);
    const std::vector<EmittedKernel> emitted = TRY(emit_objects(kernels, isa, {}));
    CompiledRegion region;
    CompileOptions nameless = options;
    nameless.keep_names = false;
    region.blob = encode_plan({}, calls_, emitted, nameless, memory_);
    region.constants = std::move(memory_.constants);
    region.workspace_bytes = memory_.workspace_bytes;
    region.kernels = static_cast<int>(calls_.size());
    std::map<std::string, const std::string*> objects;
    for (const EmittedKernel& kernel : emitted) objects.emplace(kernel.symbol, &kernel.object_file);
    for (const auto& [symbol, object] : objects) region.object_files.push_back(*object);
    region.object_files.push_back(glue_object());
    std::vector<int64_t> times = TRY(options.tuner->time_kernels({region, uses_}, options.threads));
    INTARSIA_CHECK(times.size() == calls_.size());
    return times;
  }

 private:
  /// Kernels may read up to a vector past the end.
  static size_t rounded(size_t bytes) { return (bytes + 127) / 64 * 64; }

  size_t constant(const Argument& argument) {
    auto [at, is_new] = constants_.try_emplace(argument.shape, memory_.constants.size());
    if (is_new) {
      memory_.constants.emplace_back(argument.dtype, argument.shape);
      constant_bytes_ += memory_.constants.back().bytes();
    }
    return at->second;
  }

  std::vector<Call> calls_;
  std::vector<KernelBatch::Uses> uses_;  // of the calls
  MemoryPlan memory_;
  std::map<Shape, size_t> constants_;
  size_t constant_bytes_ = 0, input_bytes_ = 0, output_bytes_ = 0;
};

class Times {
 public:
  Times(const Isa& isa, const CompileOptions& options) : isa_(isa), options_(options), tuner_(*options.tuner) {}

  /// First variants first, then the second ones: so those of one kernel lie far apart.
  Status measure(const std::vector<std::vector<Kernel>>& variants) {
    std::vector<const Kernel*> missing;
    size_t most = 0;
    for (const std::vector<Kernel>& kernel : variants) most = std::max(most, kernel.size());
    for (size_t v = 0; v < most; ++v)
      for (const std::vector<Kernel>& kernel : variants)
        if (kernel.size() > 1 && v < kernel.size() && !recall(kernel[v])) missing.push_back(&kernel[v]);
    for (size_t done = 0; done < missing.size() && tuner_.may_go_on();) {
      if (tuner_.progress) tuner_.progress(static_cast<int>(done), static_cast<int>(missing.size()));
      Batch batch;
      const size_t begin = done;
      while (done < missing.size() && !batch.is_full()) batch.add(*missing[done++]);
      TRY(remember({missing.begin() + static_cast<ptrdiff_t>(begin), missing.begin() + static_cast<ptrdiff_t>(done)},
                   TRY(batch.time(isa_, options_))));
    }
    return {};
  }

  std::optional<int64_t> of(const Kernel& kernel) const {
    const auto at = times_.find(key_of(kernel, isa_, options_));
    return at == times_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  bool recall(const Kernel& kernel) {
    const std::string key = key_of(kernel, isa_, options_);
    const std::optional<int64_t> known = tuner_.costs->find(key);
    if (known) times_[key] = *known, ++tuner_.remembered;
    return known.has_value();
  }

  Status remember(const std::vector<const Kernel*>& kernels, const std::vector<int64_t>& times) {
    std::vector<std::pair<std::string, int64_t>> entries;
    for (size_t i = 0; i < kernels.size(); ++i) entries.emplace_back(key_of(*kernels[i], isa_, options_), std::max<int64_t>(times[i], 1));
    tuner_.costs->add(entries);
    tuner_.measured += static_cast<int>(entries.size());
    times_.insert(entries.begin(), entries.end());
    return {};
  }

  const Isa& isa_;
  const CompileOptions& options_;
  Tuner& tuner_;
  std::map<std::string, int64_t> times_;
};

size_t fastest(const std::vector<Kernel>& variants, const Times& times) {
  const std::optional<int64_t> analytic = times.of(variants[0]);
  if (!analytic) return 0;
  size_t best = 0;
  double least = static_cast<double>(*analytic) * noise;
  for (size_t v = 1; v < variants.size(); ++v) {
    const std::optional<int64_t> time = times.of(variants[v]);
    if (time && static_cast<double>(*time) < least) best = v, least = static_cast<double>(*time);
  }
  return best;
}

}  // namespace

Result<std::vector<size_t>> tune_kernels(const std::vector<std::vector<Kernel>>& variants, const Isa& isa,
                                         const CompileOptions& options) {
  Times times(isa, options);
  TRY(times.measure(variants));
  std::vector<size_t> chosen;
  for (const std::vector<Kernel>& kernel : variants) chosen.push_back(fastest(kernel, times));
  return chosen;
}

}  // namespace intarsia::halide
