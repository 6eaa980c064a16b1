#include "backends/halide/emit/encode_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "backends/halide/abi/region_plan_generated.h"
#include "backends/halide/emit/list_calls.h"
#include "backends/halide/schedule/kernel_name.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

/// Adds the scratch after the workspace of a plan without any.
void append_scratch(MemoryPlan& memory, Scratch scratch) {
  const size_t offset = (memory.workspace_bytes + 63) / 64 * 64;
  memory.workspace_bytes = offset + scratch.total();
  memory.scratch_offsets.assign(scratch.calls.size(), offset);
  memory.scratch = std::move(scratch);
}

class Encoder {
 public:
  std::string encode(const Graph& graph, const std::vector<Call>& calls,
                     const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                     const EmitOptions& emit, MemoryPlan& memory) {
    for (size_t c = 0; c < calls.size(); ++c) {
      const uint32_t kernel = add_kernel(calls[c].kernel, kernels[c]);
      calls_.push_back(fbs::CreateCall(builder_, kernel, add_places(memory.places[c]),
                                       builder_.CreateString(label_of(calls[c], options.keep_names)),
                                       static_cast<uint32_t>(calls[c].times.number()), steps(calls[c]),
                                       checks(calls[c]), is_plain_copy(calls[c])));
    }
    if (memory.scratch.total() == 0) append_scratch(memory, scratch_of(calls, kernels, options, emit));
    const bool has_place = memory.scratch.workers > 0 && memory.scratch.place != Scratch::Place::own;
    builder_.Finish(fbs::CreateRegionPlan(
        builder_, 3, tensor_bytes(graph, graph.inputs), tensor_bytes(graph, graph.outputs),
        memory.workspace_bytes, has_place ? memory.scratch_offsets[0] : 0,
        has_place ? memory.scratch.bytes() : 0, has_place ? static_cast<uint32_t>(memory.scratch.workers) : 0,
        builder_.CreateVector(kernels_), builder_.CreateVector(calls_), device_of(calls), moves(emit),
        emit.input_moves ? item_outputs(graph) : 0));
    return to_bytes(builder_);
  }

 private:
  static uint8_t device_of(const std::vector<Call>& calls) {
    return calls.empty() ? 0 : static_cast<uint8_t>(calls[0].kernel.isa.device);
  }

  flatbuffers::Offset<flatbuffers::Vector<int64_t>> steps(const Call& call) {
    if (call.times == 1) return 0;
    std::vector<int64_t> bytes;
    for (size_t i = 0; i <= call.kernel.inputs.size(); ++i) {
      const Argument& argument = i < call.kernel.inputs.size() ? call.kernel.inputs[i] : call.kernel.output;
      bytes.push_back(call.walk(i).step.number() * static_cast<int64_t>(dtype_bytes(argument.dtype, 1)));
    }
    return builder_.CreateVector(bytes);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::IndexCheck>>> checks(const Call& call) {
    if (call.checks.empty()) return 0;
    std::vector<flatbuffers::Offset<fbs::IndexCheck>> to;
    for (const IndexCheck& check : call.checks) {
      std::vector<fbs::IndexRange> ranges;
      for (const auto& [low, high] : check.limits) ranges.emplace_back(low.number(), high.number());
      to.push_back(fbs::CreateIndexCheck(builder_, static_cast<uint32_t>(check.input),
                                         builder_.CreateVectorOfStructs(ranges)));
    }
    return builder_.CreateVector(to);
  }

  uint32_t add_kernel(const Kernel& kernel, const EmittedKernel& emitted) {
    const auto [at, is_new] =
        kernel_index_.try_emplace(emitted.symbol, static_cast<uint32_t>(kernels_.size()));
    if (!is_new) return at->second;
    const std::vector<ArgumentForm> forms = argument_forms(kernel, emitted.output);
    INTARSIA_CHECK(emitted.symbol.ends_with(symbol_ending(kernel, emitted.output)));
    std::vector<flatbuffers::Offset<fbs::Argument>> arguments;
    for (const ArgumentForm& form : forms) {
      arguments.push_back(fbs::CreateArgument(builder_, static_cast<uint8_t>(form.dtype),
                                              builder_.CreateVector(form.extents),
                                              builder_.CreateVector(form.strides)));
    }
    const auto symbol = builder_.CreateString(emitted.symbol);
    kernels_.push_back(fbs::CreateKernel(builder_, symbol, builder_.CreateVector(arguments)));
    return at->second;
  }

  flatbuffers::Offset<flatbuffers::Vector<const fbs::Place*>> add_places(const std::vector<Place>& places) {
    std::vector<fbs::Place> to;
    for (const Place& place : places)
      to.emplace_back(static_cast<fbs::Where>(place.where), static_cast<uint32_t>(place.index),
                      static_cast<uint64_t>(place.offset.number()));
    return builder_.CreateVectorOfStructs(to);
  }

  flatbuffers::Offset<flatbuffers::Vector<uint64_t>> tensor_bytes(const Graph& graph,
                                                                  const std::vector<ValueId>& values) {
    std::vector<uint64_t> bytes;
    for (ValueId value : values) {
      const ValueType& type = graph.value(value).type;
      bytes.push_back(dtype_bytes(type.dtype, static_cast<size_t>(element_count(*type.fixed_shape()))));
    }
    return builder_.CreateVector(bytes);
  }

  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> moves(const EmitOptions& emit) {
    if (emit.input_moves == nullptr) return 0;
    return builder_.CreateVector(std::vector<uint8_t>(emit.input_moves->begin(), emit.input_moves->end()));
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::ItemOutput>>> item_outputs(
      const Graph& graph) {
    std::vector<flatbuffers::Offset<fbs::ItemOutput>> outputs;
    for (ValueId output : graph.outputs) {
      const ValueType& type = graph.value(output).type;
      outputs.push_back(fbs::CreateItemOutput(builder_, static_cast<uint8_t>(type.dtype),
                                              builder_.CreateVector(*type.fixed_shape())));
    }
    return builder_.CreateVector(outputs);
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::map<std::string, uint32_t> kernel_index_;  // indexed by symbol
  std::vector<flatbuffers::Offset<fbs::Kernel>> kernels_;
  std::vector<flatbuffers::Offset<fbs::Call>> calls_;
};

}  // namespace

Scratch scratch_of(const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                   const CompileOptions& options, const EmitOptions& emit) {
  Scratch scratch;
  bool shares = emit.input_moves == nullptr;
  for (size_t c = 0; c < calls.size(); ++c) {
    scratch.calls.push_back((kernels[c].scratch_bytes + 63) / 64 * 64);
    shares = shares && calls[c].times == 1 && !calls[c].kernel.isa.is_offloaded();
  }
  // A run gives each thread that computes items a whole workspace.
  if (scratch.bytes() > 0) scratch.workers = emit.input_moves ? 1 : static_cast<size_t>(options.threads);
  scratch.place = options.for_plain_c ? Scratch::Place::own
                  : shares            ? Scratch::Place::shared
                                      : Scratch::Place::apart;
  return scratch;
}

std::string encode_plan(const Graph& graph, const std::vector<Call>& calls,
                        const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                        const EmitOptions& emit, MemoryPlan& memory) {
  return Encoder().encode(graph, calls, kernels, options, emit, memory);
}

}  // namespace intarsia::halide
