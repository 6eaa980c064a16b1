#include "cli/inputs/model_inputs.h"

#include "cli/text/print.h"
#include "cli/usage/compile_options.h"

namespace {

int32_t find_dtype(const Json& name) {
  for (int32_t dtype = 0; dtype_bits(dtype) > 0 || dtype <= INTARSIA_STRING; ++dtype) {
    if (name == dtype_name(dtype)) return dtype;
  }
  return INTARSIA_UNDEFINED;
}

intarsia::Argument read_port(const Json& port) {
  intarsia::Argument input{port["name"].get<std::string>()};
  input.dtype = find_dtype(port["dtype"]);
  input.rank_known = !port["shape"].is_null();
  if (!input.rank_known) return input;
  for (const Json& size : port["shape"]) input.shape.push_back(size.is_null() ? -1 : size.get<int64_t>());
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
  for (const Json& port : report["inputs"]) inputs.push_back(read_port(port));
  return inputs;
}
