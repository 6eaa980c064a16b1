#include "cli/inputs/given_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "cli/usage/usage_error.h"

namespace {

using Numbers = std::vector<int64_t>;

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Parses "8" or "1,8,32"; returns no numbers for any other text.
Numbers parse_numbers(const std::string& text) {
  Numbers numbers;
  for (const std::string& part : split_at(text, ',')) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number < 0) return {};
    numbers.push_back(number);
  }
  return numbers;
}

/// Returns the numbers of a size; none if it is a name, "?" or a range without a list.
Numbers parse_given_size(const std::string& size) {
  const size_t colon = size.find(':');
  return parse_numbers(colon == std::string::npos ? size : size.substr(colon + 1));
}

std::string join_names(const std::vector<intarsia::Argument>& inputs) {
  std::vector<std::string> names;
  for (const intarsia::Argument& input : inputs) names.push_back(input.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Sets the given sizes of an input, and notes those that are symbols.
void set_shape(intarsia::Argument& input, const GivenShape& given, size_t number,
               std::map<std::string, int64_t>& symbols) {
  const Numbers before = input.tuned_shape;
  input.tuned_shape.clear();
  for (size_t axis = 0; axis < given.sizes.size(); ++axis) {
    const Numbers& sizes = given.sizes[axis];
    if (sizes.empty()) {  // stays open in the model
      input.tuned_shape.push_back(axis < before.size() ? before[axis] : 1);
      continue;
    }
    input.tuned_shape.push_back(sizes[std::min(number, sizes.size() - 1)]);
    if (axis < input.sizes.size() && !input.sizes[axis].empty())
      symbols.emplace(input.sizes[axis], input.tuned_shape.back());
  }
}

/// Throws what a run with inputs of these shapes throws.
void check_run(const intarsia::Program& program, const intarsia::Function& function,
               const std::vector<intarsia::Argument>& inputs) {
  std::vector<intarsia::NamedSizes> shapes;
  for (const intarsia::Argument& input : inputs)
    if (input.kind == INTARSIA_TENSOR) shapes.emplace_back(input.name, input.tuned_shape);
  program.output_shapes(shapes, function.name);
}

}  // namespace

std::vector<GivenShape> parse_given_shapes(const std::vector<std::string>& texts) {
  std::vector<GivenShape> shapes;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      throw UsageError("--shape " + text + ": want INPUT=SIZES, as in image=1x3x224x224");
    GivenShape shape{text, text.substr(0, at), {}};
    const bool is_again = std::any_of(shapes.begin(), shapes.end(),
                                      [&](const GivenShape& other) { return other.input == shape.input; });
    if (is_again) throw UsageError("--shape " + text + ": input '" + shape.input + "' is given twice");
    const std::string sizes = text.substr(at + 1);
    if (sizes != "scalar")
      for (const std::string& size : split_at(sizes, 'x')) shape.sizes.push_back(parse_given_size(size));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void check_shapes_of_program(const std::vector<GivenShape>& shapes, bool may_list) {
  for (const GivenShape& shape : shapes) {
    const bool is_open = std::any_of(shape.sizes.begin(), shape.sizes.end(),
                                     [](const Numbers& sizes) { return sizes.empty(); });
    const bool is_list = std::any_of(shape.sizes.begin(), shape.sizes.end(),
                                     [](const Numbers& sizes) { return sizes.size() > 1; });
    const bool has_range = shape.text.find("..") != std::string::npos;
    if (is_open || has_range || (is_list && !may_list))
      throw UsageError(
          fmt::format("--shape {}: a compiled program runs at one shape; want numbers{}, as in "
                      "{}=4x3",
                      shape.text, may_list ? ", or lists of numbers to run at in turn" : "", shape.input));
  }
}

size_t count_shapes(const std::vector<GivenShape>& shapes) {
  size_t count = 1;
  for (const GivenShape& shape : shapes)
    for (const Numbers& sizes : shape.sizes) count = std::max(count, sizes.size());
  return count;
}

std::vector<intarsia::Argument> with_shapes(std::vector<intarsia::Argument> inputs,
                                            const std::vector<GivenShape>& shapes, size_t number,
                                            const InputOptions& options, bool is_program) {
  if (shapes.empty()) return inputs;
  const std::map<std::string, InputSource> files = parse_inputs(options, inputs);
  std::map<std::string, int64_t> symbols;
  std::vector<const intarsia::Argument*> given;
  for (const GivenShape& shape : shapes) {
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const intarsia::Argument& one) { return one.name == shape.input; });
    if (input == inputs.end())
      throw UsageError(fmt::format("--shape {}: no input '{}'; the inputs are: {}", shape.text, shape.input,
                                   join_names(inputs)));
    if (files.count(shape.input) > 0 && is_program)
      throw UsageError(fmt::format("--shape {}: the file of -i says the shape of '{}'; give one of them",
                                   shape.text, shape.input));
    if (files.count(shape.input) > 0) continue;
    set_shape(*input, shape, number, symbols);
    given.push_back(&*input);
  }
  for (intarsia::Argument& input : inputs) {
    if (std::find(given.begin(), given.end(), &input) != given.end()) continue;
    for (size_t axis = 0; axis < input.tuned_shape.size() && axis < input.sizes.size(); ++axis)
      if (const auto size = symbols.find(input.sizes[axis]); size != symbols.end())
        input.tuned_shape[axis] = size->second;
  }
  return inputs;
}

std::vector<intarsia::Argument> inputs_at(const intarsia::Program& program,
                                          const intarsia::Function& function,
                                          const std::vector<GivenShape>& shapes, size_t number,
                                          const InputOptions& options, bool is_program) {
  std::vector<intarsia::Argument> inputs = with_shapes(function.inputs, shapes, number, options, is_program);
  if (!shapes.empty() && options.texts.empty()) check_run(program, function, inputs);
  return inputs;
}

Json sizes_of_run(const intarsia::Function& function, const std::vector<intarsia_tensor>& inputs) {
  Json sizes = Json::object();
  for (const intarsia::Symbol& symbol : function.symbols)
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t axis = 0; axis < inputs[i].rank && axis < function.inputs[i].sizes.size(); ++axis)
        if (function.inputs[i].sizes[axis] == symbol.name) sizes[symbol.name] = inputs[i].shape[axis];
  return sizes;
}
