#include "measure/check_sizes.h"

#include <algorithm>

#include "base/requested_shape.h"
#include "program/open_sizes.h"
#include "runtime/bind_sizes.h"

namespace intarsia {
namespace {

// Work within a model may grow with the square of a size, beyond its inputs and outputs.
constexpr int64_t largest_end = 4096;
constexpr double most_bytes = 256e6;

int64_t min_of(const fbs::SymbolT& symbol) { return static_cast<int64_t>(symbol.min); }
int64_t max_of(const fbs::SymbolT& symbol) { return static_cast<int64_t>(symbol.max); }

int64_t nearest(const fbs::SymbolT& symbol, int64_t size) {
  return std::clamp(size, min_of(symbol), max_of(symbol));
}

/// Returns the odd number of the range that is nearest to 7; an even one where the range has no other.
int64_t odd_size(const fbs::SymbolT& symbol) {
  const int64_t size = nearest(symbol, 7);
  if (size % 2 == 1) return size;
  if (size + 1 <= max_of(symbol)) return size + 1;
  return size - 1 >= min_of(symbol) ? size - 1 : size;
}

/// Returns the size that the program was measured with.
int64_t tuned_size(const fbs::SymbolT& symbol) {
  return symbol.tuned.empty() ? nearest(symbol, 1) : static_cast<int64_t>(symbol.tuned[0]);
}

/// Returns the open sizes that the shapes of inputs tell, by symbol; -1 for those that they do not tell.
Result<std::vector<int64_t>> tell_sizes(const fbs::FunctionT& function,
                                        const std::map<std::string, Shape>& shapes) {
  SizeBinder binder(function);
  binder.start();
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const auto given = shapes.find(value.name);
    if (given != shapes.end() && given->second.size() == value.dims.size())
      TRY(binder.tell(value, given->second));
  }
  const OpenSizes told = binder.sizes();
  return std::vector<int64_t>(told.sizes.begin(), told.sizes.end());
}

/// Returns the shape, all of whose sizes must be numbers.
Result<Shape> numbers_of(const RequestedShape& requested) {
  Shape shape;
  for (const RequestedSize& size : requested.sizes) {
    if (!size.number) return fail("a program is compared at one shape; want numbers, as in 4x3");
    shape.push_back(*size.number);
  }
  return shape;
}

bool has_end(const fbs::SymbolT& symbol) { return max_of(symbol) < SizeRange::limit; }

/// Returns the bytes of all values of one side; 0 for those whose shape is not known.
double bytes_of(const fbs::FunctionT& function, const std::vector<uint32_t>& side,
                const std::vector<int64_t>& sizes) {
  double bytes = 0;
  for (uint32_t id : side) {
    const fbs::ValueT& value = *function.values[id];
    const auto shape = shape_at(function, value, sizes);
    if (!shape || value.dtype == 0) continue;
    double elements = 1;
    for (int64_t size : *shape) elements *= static_cast<double>(std::max<int64_t>(size, 0));
    bytes += elements * static_cast<double>(dtype_bits(static_cast<DType>(value.dtype))) / 8;
  }
  return bytes;
}

/// Returns why a combination with ends of ranges is left out; empty if it is not.
std::string judge_ends(const fbs::FunctionT& function, const std::vector<int64_t>& sizes) {
  for (const auto& [what, side] : {std::pair("inputs", &function.inputs), {"outputs", &function.outputs}}) {
    const double bytes = bytes_of(function, *side, sizes);
    if (bytes > most_bytes)
      return fmt::format("its {} would take {:.0f} MB, more than {:.0f}", what, bytes / 1e6,
                         most_bytes / 1e6);
  }
  return "";
}

/// Returns the combinations with ends of ranges. An end that is too large is one of its own.
std::vector<SizesToCheck> choose_ends(const fbs::FunctionT& function, const std::vector<int64_t>& tuned) {
  std::vector<int64_t> ends = tuned;
  std::vector<SizesToCheck> left_out;
  for (size_t i = 0; i < tuned.size(); ++i) {
    const fbs::SymbolT& symbol = *function.symbols[i];
    if (!has_end(symbol)) continue;
    if (max_of(symbol) <= largest_end) {
      ends[i] = max_of(symbol);
      continue;
    }
    SizesToCheck& end = left_out.emplace_back(tuned);
    end.sizes[i] = max_of(symbol);
    end.why_not = judge_ends(function, end.sizes);
    if (end.why_not.empty())
      end.why_not = fmt::format("ends of ranges beyond {} may take too long; give inputs", largest_end);
  }
  left_out.insert(left_out.begin(), {ends, judge_ends(function, ends)});
  return left_out;
}

}  // namespace

Result<std::vector<int64_t>> sizes_of_inputs(const fbs::FunctionT& function,
                                             const std::vector<NamedValue>& inputs) {
  std::map<std::string, Shape> shapes;
  for (const NamedValue& input : inputs) shapes[input.name] = input.tensor.shape();
  return tell_sizes(function, shapes);
}

Result<std::vector<int64_t>> sizes_of_shapes(const fbs::FunctionT& function,
                                             const std::vector<NamedValue>& inputs,
                                             const std::map<std::string, RequestedShape>& shapes) {
  std::map<std::string, Shape> given;
  for (const NamedValue& input : inputs) given[input.name] = input.tensor.shape();
  for (const auto& [name, requested] : shapes) {
    const auto is_it = [&](uint32_t id) { return function.values[id]->name == name; };
    if (std::ranges::none_of(function.inputs, is_it)) return fail("--shape {}: no input has this name", name);
    if (given.contains(name)) return fail("--shape {}: its values are given, too", name);
    given[name] = TRY(with_context(numbers_of(requested), "--shape {}", name));
  }
  std::vector<int64_t> sizes = TRY(tell_sizes(function, given));
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0) sizes[i] = tuned_size(*function.symbols[i]);
  for (uint32_t id : function.inputs) {
    const fbs::ValueT& value = *function.values[id];
    const Shape shape = TRY(shape_at(function, value, sizes));
    if (const auto want = given.find(value.name); shapes.contains(value.name) && want->second != shape)
      return fail("--shape {}: {}, but with these sizes the input is {}", value.name,
                  print_shape(want->second), print_shape(shape));
  }
  return sizes;
}

std::vector<SizesToCheck> choose_sizes_to_check(const fbs::FunctionT& function,
                                                const std::vector<int64_t>& tuned) {
  std::vector<SizesToCheck> wanted;
  const auto add = [&](const auto& size_of) {
    SizesToCheck& one = wanted.emplace_back();
    for (const auto& symbol : function.symbols) one.sizes.push_back(size_of(*symbol));
  };
  add([](const fbs::SymbolT& symbol) { return nearest(symbol, 1); });
  add([](const fbs::SymbolT& symbol) { return nearest(symbol, 2); });
  add(odd_size);
  std::ranges::move(choose_ends(function, tuned), std::back_inserter(wanted));
  std::vector<SizesToCheck> chosen;
  for (SizesToCheck& one : wanted) {
    const bool is_new = std::ranges::find(chosen, one.sizes, &SizesToCheck::sizes) == chosen.end();
    if (is_new && one.sizes != tuned) chosen.push_back(std::move(one));
  }
  return chosen;
}

}  // namespace intarsia
