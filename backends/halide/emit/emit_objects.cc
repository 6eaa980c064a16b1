#include "backends/halide/emit/emit_objects.h"

#include "backends/halide/emit/code_generation.h"
#include "backends/halide/emit/kernel_costs.h"
#include "backends/halide/schedule/kernel_name.h"

namespace intarsia::halide {
namespace {

using Kind = CodegenOutcome::Kind;

/// Describes what a kernel computes, for people: "Conv Add Relu -> f32[1,64,56,56]".
std::string describe(const Kernel& kernel) {
  std::string text;
  for (const Node& node : kernel.body.nodes) text += node.op + " ";
  return fmt::format("{}-> {}[{}]", text, dtype_name(kernel.output.dtype), print_shape(kernel.output.shape));
}

void report(const Kernel& kernel, const CodegenOutcome& outcome, CodegenReport* to) {
  if (to == nullptr) return;
  if (outcome.kind == Kind::given_up)
    to->given_up.push_back(fmt::format("{}: {}", describe(kernel), outcome.why));
  ++to->kernels;
  to->cpu_seconds += outcome.cpu_seconds;
  if (outcome.cpu_seconds <= to->slowest_seconds) return;
  to->slowest_seconds = outcome.cpu_seconds;
  to->slowest = describe(kernel);
}

/// Returns the version of rows of the cache: what their code depends on besides the kernel.
std::string cache_version() { return fmt::format("halide {} {}", INTARSIA_HALIDE_VERSION, code_generation); }

/// Returns what is known of the kernels, if anything is remembered.
std::map<CostKey, Cost> recall(std::span<const Kernel* const> kernels, const CompileOptions& options) {
  if (options.tuner == nullptr) return {};
  std::vector<CostKey> keys;
  for (const Kernel* kernel : kernels) keys.push_back(cost_key(*kernel, options));
  return options.tuner->costs->find(keys);
}

/// Checks whether the code took too long once. It is not tried again, so that the next compile gives the same
/// program.
bool was_given_up(const Kernel& kernel, const std::map<CostKey, Cost>& known, const CompileOptions& options) {
  const auto row = known.find(cost_key(kernel, options));
  return row != known.end() && row->second.timing.nanoseconds == never;
}

void remember_given_up(const Kernel& kernel, const CompileOptions& options) {
  if (options.tuner == nullptr) return;
  const std::pair<CostKey, Cost> row(cost_key(kernel, options), cost_measured_now(0));
  options.tuner->costs->add(std::span(&row, 1));
}

/// Returns the time limit for a call's code. The last alternative gets more time, because nothing could
/// replace it.
double cpu_seconds_for(const Call& call, const EmitOptions& emit) {
  return call.alternatives.empty() ? 6 * emit.cpu_seconds : emit.cpu_seconds;
}

/// Replaces a call's kernel, after this outcome, by its next alternative.
Status take_alternative(Call& call, const CodegenOutcome& outcome) {
  Kernel& kernel = call.kernel;
  if (call.alternatives.empty())
    return fail(ErrorKind::unsupported,
                "halide: no code for the kernel {}: {}; run its operators elsewhere with --pin",
                describe(kernel), outcome.why);
  const std::optional<size_t> in_place = kernel.in_place;
  kernel = std::move(call.alternatives.front());
  kernel.in_place = in_place;
  call.alternatives.erase(call.alternatives.begin());
  return {};
}

}  // namespace

Result<std::vector<const CodegenOutcome*>> Emitter::emit(std::span<const Kernel* const> kernels,
                                                         const EmitOptions& emit,
                                                         const CompileOptions& options) {
  std::vector<std::string> names, missing;
  std::vector<CodegenRequest> requests;
  const std::map<CostKey, Cost> known = recall(kernels, options);
  for (const Kernel* kernel : kernels) {
    names.push_back(name_of(*kernel, emit.checks));
    const auto [at, is_new] = made_.try_emplace(names.back());
    if (!is_new) continue;
    if (was_given_up(*kernel, known, options)) {
      at->second.why = "generating its code took too long before";
      continue;
    }
    requests.push_back({*kernel, emit.checks, emit.cpu_seconds});
    missing.push_back(names.back());
  }
  reuse_code(requests, missing, options);
  emit.progress.expect(static_cast<double>(requests.size()));
  if (Status made = make_code(requests, missing, {options.is_cancelled, emit.progress}, options); !made) {
    for (const std::string& name : missing) made_.erase(name);
    return tl::unexpected(made.error());
  }
  std::vector<const CodegenOutcome*> all;
  for (const std::string& name : names) all.push_back(&made_.at(name));
  return all;
}

/// Takes what the cache has out of the requests.
void Emitter::reuse_code(std::vector<CodegenRequest>& requests, std::vector<std::string>& missing,
                         const CompileOptions& options) {
  if (options.code_cache == nullptr || requests.empty()) return;
  const std::map<std::string, std::string> found = options.code_cache->find(missing, cache_version());
  std::vector<CodegenRequest> other_requests;
  std::vector<std::string> others;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto at = found.find(missing[i]);
    CodegenReply reply =
        at == found.end() ? CodegenReply(fail("not in the cache")) : decode_reply(at->second);
    if (reply) {
      made_[missing[i]] = {.kind = Kind::made, .kernel = std::move(*reply)};
      if (options.codegen != nullptr) ++options.codegen->reused;
      continue;
    }
    other_requests.push_back(std::move(requests[i]));
    others.push_back(std::move(missing[i]));
  }
  requests = std::move(other_requests);
  missing = std::move(others);
}

/// Generates code for all requests and adds it to the cache.
Status Emitter::make_code(const std::vector<CodegenRequest>& requests, const std::vector<std::string>& names,
                          const CodegenPool::Watch& watch, const CompileOptions& options) {
  if (requests.empty()) return {};
  std::vector<CodegenOutcome> outcomes = TRY(pool_.run(requests, watch));
  std::vector<std::pair<std::string, std::string>> rows;
  for (size_t i = 0; i < requests.size(); ++i) {
    report(requests[i].kernel, outcomes[i], options.codegen);
    if (outcomes[i].out_of_time) remember_given_up(requests[i].kernel, options);
    if (options.code_cache != nullptr && outcomes[i].kind == Kind::made)
      rows.emplace_back(names[i], encode_reply(outcomes[i].kernel));
    made_[names[i]] = std::move(outcomes[i]);
  }
  if (options.code_cache != nullptr) options.code_cache->add(rows, cache_version());
  return {};
}

Result<std::vector<EmittedKernel>> emit_objects(std::vector<Call>& calls, Emitter& emitter,
                                                const EmitOptions& emit, const CompileOptions& options) {
  std::vector<EmittedKernel> emitted(calls.size());
  std::vector<size_t> missing;
  for (size_t c = 0; c < calls.size(); ++c) missing.push_back(c);
  while (!missing.empty()) {
    std::map<double, std::vector<size_t>> by_limit;
    for (size_t c : missing) by_limit[cpu_seconds_for(calls[c], emit)].push_back(c);
    missing.clear();
    for (const auto& [seconds, some] : by_limit) {
      std::vector<const Kernel*> kernels;
      for (size_t c : some) kernels.push_back(&calls[c].kernel);
      const auto outcomes = TRY(emitter.emit(kernels, {emit.checks, seconds, emit.progress}, options));
      for (size_t i = 0; i < some.size(); ++i) {
        if (outcomes[i]->kind == Kind::made) {
          emitted[some[i]] = outcomes[i]->kernel;
          if (!outcomes[i]->kernel.in_place) calls[some[i]].kernel.in_place.reset();
          continue;
        }
        TRY(take_alternative(calls[some[i]], *outcomes[i]));
        missing.push_back(some[i]);
      }
    }
  }
  return emitted;
}

}  // namespace intarsia::halide
