#include "backends/halide/encode_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "backends/halide/region_plan_generated.h"

namespace intarsia::halide {
namespace {

template <typename T>
std::vector<int32_t> narrow(const T& numbers) {
  return {numbers.begin(), numbers.end()};
}

class Encoder {
 public:
  std::string encode(const Graph& graph, const std::vector<Call>& calls,
                     const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                     MemoryPlan& memory) {
    for (size_t c = 0; c < calls.size(); ++c) {
      std::vector<uint32_t> arguments;
      const std::vector<Place>& places = memory.places[c];
      for (size_t i = 0; i < places.size(); ++i)
        arguments.push_back(add_buffer(
            places[i], i < calls[c].kernel.inputs.size() ? calls[c].kernel.inputs[i] : kernels[c].output));
      calls_.push_back(fbs::CreateCall(builder_, add_symbol(kernels[c].symbol),
                                       builder_.CreateVector(arguments),
                                       builder_.CreateString(label(calls[c], options.keep_names)),
                                       static_cast<uint32_t>(calls[c].times), steps(calls[c])));
    }
    size_t scratch = 0;
    for (const EmittedKernel& kernel : kernels)
      scratch = std::max(scratch, (kernel.scratch_bytes + 63) / 64 * 64);
    size_t arena = (memory.workspace_bytes + 63) / 64 * 64;
    uint32_t workers = scratch > 0 ? static_cast<uint32_t>(options.threads) : 0;
    memory.workspace_bytes = arena + scratch * workers;
    builder_.Finish(fbs::CreateRegionPlan(builder_, 2, tensor_bytes(graph, graph.inputs),
                                          tensor_bytes(graph, graph.outputs), memory.workspace_bytes, arena,
                                          scratch, workers, builder_.CreateVectorOfStrings(symbols_),
                                          builder_.CreateVector(buffers_), builder_.CreateVector(calls_)));
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  /// "conv1/BiasAdd: Conv Add Relu"
  static std::string label(const Call& call, bool keep_names) {
    std::vector<std::string_view> ops;
    for (const Node& node : call.kernel.body.nodes) ops.push_back(node.op);
    const std::string work = fmt::format("{}", fmt::join(ops, " "));
    return keep_names ? fmt::format("{}: {}", call.source, work) : work;
  }

  flatbuffers::Offset<flatbuffers::Vector<int64_t>> steps(const Call& call) {
    if (call.times == 1) return 0;
    std::vector<int64_t> bytes;
    for (size_t i = 0; i <= call.kernel.inputs.size(); ++i) {
      const Argument& argument = i < call.kernel.inputs.size() ? call.kernel.inputs[i] : call.kernel.output;
      bytes.push_back(call.walk(i).step * static_cast<int64_t>(dtype_bytes(argument.dtype, 1)));
    }
    return builder_.CreateVector(bytes);
  }

  uint32_t add_symbol(const std::string& symbol) {
    auto [at, made] = symbol_index_.try_emplace(symbol, static_cast<uint32_t>(symbols_.size()));
    if (made) symbols_.push_back(symbol);
    return at->second;
  }

  uint32_t add_buffer(const Place& place, const Argument& argument) {
    buffers_.push_back(fbs::CreateBuffer(
        builder_, static_cast<fbs::Where>(place.where), static_cast<uint32_t>(place.index), place.offset,
        static_cast<uint8_t>(argument.dtype), builder_.CreateVector(narrow(argument.shape)),
        builder_.CreateVector(narrow(argument.strides))));
    return static_cast<uint32_t>(buffers_.size() - 1);
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

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::string> symbols_;
  std::map<std::string, uint32_t> symbol_index_;
  std::vector<flatbuffers::Offset<fbs::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<fbs::Call>> calls_;
};

}  // namespace

std::string encode_plan(const Graph& graph, const std::vector<Call>& calls,
                        const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                        MemoryPlan& memory) {
  return Encoder().encode(graph, calls, kernels, options, memory);
}

}  // namespace intarsia::halide
