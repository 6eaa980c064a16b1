#include "cli/inputs/model_inputs.h"

#include <algorithm>

#include "cli/text/print.h"
#include "cli/usage/compile_options.h"

namespace {

int32_t find_dtype(const Json& name) {
  for (int32_t dtype = 0; dtype_bits(dtype) > 0 || dtype <= INTARSIA_STRING; ++dtype) {
    if (name == dtype_name(dtype)) return dtype;
  }
  return INTARSIA_UNDEFINED;
}

/// Returns a number that a size may have: for an open one, what a program of the model is measured with.
int64_t tuned_size(const Json& size, const Json& open_sizes) {
  for (const Json& open : open_sizes) {
    if (open["symbol"] != size) continue;
    if (!open["tuned"].empty()) return open["tuned"][0].get<int64_t>();
    return std::clamp<int64_t>(1, open["min"].get<int64_t>(), open["max"].get<int64_t>());
  }
  return -1;
}

intarsia::Argument read_port(const Json& port, const Json& open_sizes) {
  intarsia::Argument input{port["name"].get<std::string>()};
  input.dtype = find_dtype(port["dtype"]);
  input.rank_known = !port["shape"].is_null();
  if (!input.rank_known) return input;
  for (const Json& size : port["shape"]) {
    input.shape.push_back(size.is_number() ? size.get<int64_t>() : -1);
    input.tuned_shape.push_back(size.is_number() ? size.get<int64_t>() : tuned_size(size, open_sizes));
  }
  return input;
}

}  // namespace

std::vector<intarsia::Argument> describe_inputs(const std::string& path,
                                                const intarsia::CompileOptions& options) {
  if (is_program(path)) return intarsia::Program::load(path).functions().at(0).inputs;
  intarsia::CompileOptions described = options;
  described.stop_after = "infer_types";
  described.progress = nullptr;
  std::vector<intarsia::Argument> inputs;
  const Json report = Json::parse(intarsia::Compiler::get().compile(path, "", described));
  for (const Json& port : report["inputs"]) inputs.push_back(read_port(port, report["open_sizes"]));
  return inputs;
}

GivenInputs read_given_inputs(const InputOptions& options, const std::string& path,
                              const intarsia::CompileOptions& compile) {
  return options.texts.empty() ? GivenInputs() : read_given_inputs(options, describe_inputs(path, compile));
}

GivenInputs read_given_inputs(const InputOptions& options, const std::vector<intarsia::Argument>& inputs) {
  GivenInputs given;
  for (const auto& [name, source] : parse_inputs(options, inputs)) {
    intarsia::Argument input;
    for (const intarsia::Argument& each : inputs) {
      if (each.name == name) input = each;
    }
    std::string conversion;
    given.arrays.push_back(read_input(source, input, options.picture, conversion));
    given.views.emplace_back(name, given.arrays.back().view());
    if (!conversion.empty()) given.conversions[name] = conversion;
  }
  return given;
}
