#include "plan/choose/plan_shapes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_values.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

/// Prints a size as --shape takes it, as far as that has words for it.
std::string print_size(const RequestedSize& size) {
  if (size.number) return std::to_string(*size.number);
  std::string text = size.name.empty() ? "?" : size.name;
  if (size.range) text = fmt::format("{}..{}", size.range->min, size.range->max);
  if (size.tuned.empty()) return text;
  return size.range ? fmt::format("{}:{}", text, fmt::join(size.tuned, ","))
                    : fmt::format("{}", fmt::join(size.tuned, ","));
}

std::string print_sizes(const std::vector<RequestedSize>& sizes) {
  std::vector<std::string> texts;
  for (const RequestedSize& size : sizes) texts.push_back(print_size(size));
  return texts.empty() ? "scalar" : fmt::format("{}", fmt::join(texts, "x"));
}

RequestedSize save_size(const Graph& graph, const Dim& size) {
  if (size.is_number()) return {.number = size.number()};
  const std::string* symbol = size.symbol();
  if (symbol == nullptr) return {};
  RequestedSize saved{.name = *symbol};
  const auto open = std::ranges::find(graph.open_sizes, *symbol, &OpenSize::name);
  if (open == graph.open_sizes.end()) return saved;
  if (open->range != SizeRange{}) saved.range = open->range;
  saved.tuned = open->tuned;
  return saved;
}

Json print_size_json(const RequestedSize& size) {
  if (size.number) return *size.number;
  if (size.name.empty()) return nullptr;
  Json json{{"size", size.name}};
  if (size.range) {
    json["min"] = size.range->min;
    json["max"] = size.range->max;
  }
  if (!size.tuned.empty()) json["fastest_at"] = size.tuned;
  return json;
}

Result<int64_t> read_number(const Json& json, const std::string& where) {
  const bool is_size =
      json.is_number_integer() && json.get<int64_t>() >= 0 && json.get<int64_t>() <= SizeRange::limit;
  if (!is_size || (json.is_number_unsigned() && json.get<uint64_t>() > SizeRange::limit))
    return fail("{}: {} is not a size; want a whole number, 0 to {}", where, print_value(json),
                SizeRange::limit);
  return json.get<int64_t>();
}

/// Reads a list of sizes to be fastest at.
Status read_tuned(const Json& json, const std::string& where, RequestedSize& size) {
  if (!json.is_array()) return fail("{}, \"fastest_at\": want a list of sizes", where);
  const SizeRange range = size.range.value_or(SizeRange{});
  for (const Json& one : json) {
    const int64_t number = TRY(read_number(one, where + ", \"fastest_at\""));
    if (!range.contains(number))
      return fail("{}, \"fastest_at\": size {} is not in {}..{}; widen the range, or leave the size out",
                  where, number, range.min, range.max);
    size.tuned.push_back(number);
  }
  return {};
}

Result<RequestedSize> read_size(const Json& json, const std::string& where) {
  if (json.is_null()) return RequestedSize{};
  if (!json.is_object()) return RequestedSize{.number = TRY(read_number(json, where))};
  TRY(check_keys(json, {"size", "min", "max", "fastest_at"}, where));
  const auto name = json.find("size");
  if (name == json.end() || !name->is_string() || name->get<std::string>().empty())
    return fail("{}: want a text \"size\", the name of the open size", where);
  RequestedSize size{.name = name->get<std::string>()};
  SizeRange range;
  if (json.contains("min")) range.min = TRY(read_number(json["min"], where + ", \"min\""));
  if (json.contains("max")) range.max = TRY(read_number(json["max"], where + ", \"max\""));
  if (range.min > range.max)
    return fail("{}: \"min\" is {} and \"max\" is {}; want {} to {}", where, range.min, range.max, range.max,
                range.min);
  if (range != SizeRange{}) size.range = range;
  if (json.contains("fastest_at")) TRY(read_tuned(json["fastest_at"], where, size));
  return size;
}

/// Checks that the model's input may have the plan's shape.
Status verify_shape(const Value& input, const RequestedShape& of_plan) {
  const auto refuse = [&]() {
    return fail(
        "input '{}' has shape {} in it, and {} in the model: it is of another model; save it again with "
        "--save-plan",
        input.name, of_plan.text, print_shape(*input.type.shape));
  };
  if (!input.type.shape) return {};
  const SymbolicShape& shape = *input.type.shape;
  if (shape.size() != of_plan.sizes.size()) return refuse();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const RequestedSize& size = of_plan.sizes[axis];
    if (shape[axis].is_number() && size.number != shape[axis].number()) return refuse();
    const bool follows = shape[axis].is_known() && shape[axis].symbol() == nullptr;
    if (!size.number && !shape[axis].is_number() && follows != size.name.empty()) return refuse();
  }
  return {};
}

/// Checks whether what is given, as far as it says anything, is what the plan has.
bool agrees(const RequestedSize& given, const RequestedSize& of_plan) {
  if (given.number || of_plan.number) return given.number == of_plan.number;
  return (given.name.empty() || given.name == of_plan.name) &&
         (!given.range || given.range == of_plan.range) &&
         (given.tuned.empty() || given.tuned == of_plan.tuned);
}

bool agrees(const RequestedShape& given, const RequestedShape& of_plan) {
  return std::ranges::equal(given.sizes, of_plan.sizes,
                            [](const auto& one, const auto& other) { return agrees(one, other); });
}

}  // namespace

PlanShapes save_shapes(const Graph& graph) {
  PlanShapes shapes;
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (input.type.opaque || !input.type.shape) continue;
    RequestedShape& shape = shapes[input.name];
    for (const Dim& size : *input.type.shape) shape.sizes.push_back(save_size(graph, size));
    shape.text = print_sizes(shape.sizes);
  }
  return shapes;
}

Json print_plan_shapes(const PlanShapes& shapes) {
  Json json = Json::object();
  for (const auto& [input, shape] : shapes) {
    json[input] = Json::array();
    for (const RequestedSize& size : shape.sizes) json[input].push_back(print_size_json(size));
  }
  return json;
}

Result<PlanShapes> read_plan_shapes(const Json& json, const std::string& where) {
  if (!json.is_object()) return fail("{}, \"shapes\": want an object with a list for each input", where);
  PlanShapes shapes;
  for (const auto& [input, sizes] : json.items()) {
    const std::string here = fmt::format("{}, input '{}'", where, input);
    if (!sizes.is_array()) return fail("{}: want a list of sizes", here);
    RequestedShape& shape = shapes[input];
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      shape.sizes.push_back(TRY(read_size(sizes[axis], fmt::format("{}, size {}", here, axis))));
    shape.text = print_sizes(shape.sizes);
  }
  return shapes;
}

Result<PlanShapes> take_plan_shapes(const Graph& graph, const PlanShapes& of_plan, const PlanShapes& given) {
  PlanShapes taken = given;
  for (const auto& [name, shape] : of_plan) {
    const auto input =
        std::ranges::find_if(graph.inputs, [&](ValueId id) { return graph.value(id).name == name; });
    if (input == graph.inputs.end())
      return fail("the model has no input '{}': it is of another model; save it again with --save-plan",
                  name);
    TRY(verify_shape(graph.value(*input), shape));
    const auto asked = given.find(name);
    if (asked != given.end() && !agrees(asked->second, shape))
      return fail(
          "it was chosen for {}={}, and --shape {}={} wants another shape: leave --shape out, or "
          "choose a plan for it with --save-plan",
          name, shape.text, name, asked->second.text);
    taken[name] = shape;
  }
  return taken;
}

}  // namespace intarsia
