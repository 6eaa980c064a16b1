#include "runtime/bind_arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "runtime/prepared_function.h"

namespace intarsia {
namespace {

std::string print_dims(const std::vector<int64_t>& dims) {
  std::vector<std::string> sizes;
  for (int64_t size : dims) sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

/// Checks for the alignment of one element, which executables may rely on.
bool is_aligned(const TensorView& tensor) {
  size_t alignment = std::clamp<size_t>(static_cast<size_t>(dtype_bits(tensor.dtype)) / 8, 1, 8);
  if (tensor.dtype == DType::string) alignment = alignof(std::string);
  if (tensor.dtype == DType::c64) alignment = alignof(float);
  return intarsia::is_aligned(tensor.data, alignment);
}

}  // namespace

ArgumentBinder::Side ArgumentBinder::make_side(std::string_view what,
                                               std::span<const uint32_t> values) const {
  Side side{what, values, {}, std::vector<bool>(values.size(), false)};
  for (size_t i = 0; i < values.size(); ++i) side.by_name[function_.values[values[i]]->name] = i;
  return side;
}

ArgumentBinder::ArgumentBinder(const fbs::FunctionT& function, std::span<ValueState> values)
    : function_(function),
      values_(values),
      inputs_(make_side("input", function.inputs)),
      outputs_(make_side("output", function.outputs)),
      sizes_(function),
      input_ranges_(function.inputs.size()),
      output_positions_(function.outputs.size()),
      scratch_(values.size()) {}

/// Finds the position of the argument's name, which is usually `guess`, the caller's position.
Result<size_t> ArgumentBinder::find(Side& side, const NamedTensor& argument, size_t guess) const {
  size_t at = guess;
  if (at >= side.values.size() || function_.values[side.values[at]]->name != argument.name) {
    const auto known = side.by_name.find(argument.name);
    if (known == side.by_name.end()) {
      std::vector<std::string_view> names;
      for (uint32_t id : side.values) names.push_back(function_.values[id]->name);
      return fail("no {} '{}'; the function has: {}", side.what, argument.name, fmt::join(names, ", "));
    }
    at = known->second;
  }
  if (side.given[at]) return fail("{} '{}' is given twice", side.what, argument.name);
  side.given[at] = true;
  ++side.given_count;
  return at;
}

Status ArgumentBinder::check_all_inputs_given() const {
  if (inputs_.given_count == inputs_.values.size()) return {};
  std::vector<std::string_view> missing;
  for (size_t i = 0; i < inputs_.values.size(); ++i) {
    if (!inputs_.given[i]) missing.push_back(function_.values[inputs_.values[i]]->name);
  }
  return fail("missing input{} {}", missing.size() > 1 ? "s" : "", fmt::join(missing, ", "));
}

namespace {

/// Returns advice for a picture, or a batch of them, whose channels are last where the model has them first,
/// or vice versa; empty for other shapes. Negative sizes in `wanted` match any.
std::string advise_on_layout(const Shape& given, const std::vector<int64_t>& wanted) {
  const auto is_given = [&](const std::vector<size_t>& axes) {
    for (size_t i = 0; i < axes.size(); ++i)
      if (wanted[i] >= 0 && wanted[i] != given[axes[i]]) return false;
    return true;
  };
  if (given.size() != 4 || wanted.size() != 4) return {};
  if (is_given({0, 3, 1, 2}))
    return "it looks like NHWC where the model has NCHW: transpose it, as numpy's x.transpose(0, 3, 1, 2)";
  if (is_given({0, 2, 3, 1}))
    return "it looks like NCHW where the model has NHWC: transpose it, as numpy's x.transpose(0, 2, 3, 1)";
  return {};
}

}  // namespace

Status ArgumentBinder::check_tensor(const Side& side, const NamedTensor& argument,
                                    const ValueState& value) const {
  const TensorView& tensor = argument.tensor;
  const DType wanted = static_cast<DType>(value.about->dtype);
  const std::vector<int64_t>& dims = value.about->dims;
  if (tensor.dtype != wanted) {
    return fail("{} '{}' has dtype {}, want {}", side.what, argument.name, dtype_name(tensor.dtype),
                dtype_name(wanted));
  }
  if (!value.about->rank_unknown && tensor.shape.size() != dims.size()) {
    return fail("{} '{}' has rank {} (shape {}), want rank {} (shape {})", side.what, argument.name,
                tensor.shape.size(), print_shape(tensor.shape), dims.size(), print_dims(dims));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] == tensor.shape[i]) continue;
    const std::string advice = advise_on_layout(tensor.shape, dims);
    return fail("{} '{}' has shape {}, want {}: {}", side.what, argument.name, print_shape(tensor.shape),
                print_dims(dims),
                advice.empty() ? "compile the model again for another shape (--shape)" : advice);
  }
  TRY(with_context(checked_elements(tensor.shape), "{} '{}'", side.what, argument.name));
  return {};
}

/// Returns the value's own tensor of this dtype and shape, made when first needed.
Tensor& ArgumentBinder::scratch(uint32_t id, const TensorView& like) {
  Tensor& tensor = scratch_[id];
  if (tensor.data() == nullptr || tensor.shape() != like.shape) tensor = Tensor(like.dtype, like.shape);
  return tensor;
}

Status ArgumentBinder::bind_input(const NamedTensor& input, uint32_t id) {
  ValueState& value = values_[id];
  Range& range = input_ranges_[inputs_.given_count - 1];
  range = {};
  if (value.is_opaque()) {
    if (input.owner == nullptr) return fail("input '{}' has no value", input.name);
    value.set(TensorView{}, {}, input.owner);
    return {};
  }
  TRY(check_tensor(inputs_, input, value));
  if (sizes_.has_symbols()) TRY(sizes_.tell(*value.about, input.tensor.shape));
  const size_t bytes = input.tensor.bytes();
  if (input.tensor.data == nullptr && bytes > 0) return fail("input '{}' has no data", input.name);
  range.begin = static_cast<const std::byte*>(input.tensor.data);
  range.end = range.begin + bytes;
  if (value.view.shape != input.tensor.shape) {
    value.view.shape = input.tensor.shape;
    for (Input* reader : value.readers) reader->tensor.shape = input.tensor.shape;
  }
  if (is_aligned(input.tensor)) {
    value.set_data(input.tensor.data);
  } else {
    Tensor& aligned = scratch(id, input.tensor);
    copy_elements(input.tensor, aligned.view());
    value.set_data(aligned.data());
  }
  return {};
}

Status ArgumentBinder::check_overlap(const NamedTensor& output) const {
  const auto* begin = static_cast<const std::byte*>(output.tensor.data);
  const std::byte* end = begin + output.tensor.bytes();
  for (size_t i = 0; i < inputs_.given_count; ++i) {
    const Range& range = input_ranges_[i];
    if (begin < range.end && range.begin < end) {
      return fail("output '{}' overlaps an input's memory; want a separate buffer", output.name);
    }
  }
  return {};
}

Status ArgumentBinder::bind_output(NamedTensor& output, uint32_t id) {
  ValueState& value = values_[id];
  if (output.tensor.data == nullptr) {
    if (value.is_dynamic()) return {};  // hand_over() gives the memory that the run made
    const Tensor made(static_cast<DType>(value.about->dtype), value.about->dims);
    output.tensor = made.view();
    output.owner = made.owner();
  } else if (!value.is_opaque()) {
    TRY(check_tensor(outputs_, output, value));
    TRY(check_overlap(output));
  }
  if (value.is_dynamic()) return {};
  const bool direct = is_aligned(output.tensor);
  value.set_data(direct ? output.tensor.data : scratch(id, output.tensor).data());
  return {};
}

void ArgumentBinder::provide_ungiven_outputs() {
  if (outputs_.given_count == outputs_.values.size()) return;
  for (size_t i = 0; i < outputs_.values.size(); ++i) {
    ValueState& value = values_[outputs_.values[i]];
    if (!outputs_.given[i] && !value.is_dynamic())
      value.set_data(scratch(outputs_.values[i], value.view).data());
  }
}

/// Checks the shapes of all inputs, and of the outputs with a buffer, against the open sizes of this run.
Status ArgumentBinder::check_open_sizes(std::span<const NamedTensor> outputs) const {
  for (uint32_t id : inputs_.values) TRY(sizes_.check("input", *values_[id].about, values_[id].view.shape));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fbs::ValueT& about = *values_[outputs_.values[output_positions_[i]]].about;
    if (outputs[i].tensor.data != nullptr && about.dtype != 0)
      TRY(sizes_.check("output", about, outputs[i].tensor.shape));
  }
  return {};
}

Status ArgumentBinder::bind(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) {
  for (Side* side : {&inputs_, &outputs_}) {
    std::fill(side->given.begin(), side->given.end(), false);
    side->given_count = 0;
  }
  sizes_.start();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t at = TRY(find(inputs_, inputs[i], i));
    TRY(bind_input(inputs[i], inputs_.values[at]));
  }
  TRY(check_all_inputs_given());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t at = TRY(find(outputs_, outputs[i], i));
    output_positions_[i] = at;
    TRY(bind_output(outputs[i], outputs_.values[at]));
  }
  provide_ungiven_outputs();
  return sizes_.has_symbols() ? check_open_sizes(outputs) : Status();
}

Status ArgumentBinder::hand_over(std::span<NamedTensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    NamedTensor& output = outputs[i];
    ValueState& value = values_[outputs_.values[output_positions_[i]]];
    if (value.is_dynamic() && (value.is_opaque() || output.tensor.data == nullptr)) {
      output.tensor = value.view;
      output.owner = value.owner;
    } else if (value.view.data != output.tensor.data) {
      if (value.view.shape != output.tensor.shape) {
        return fail(
            "output '{}' has shape {} in this run, its buffer {}; give no buffer to let the run make one",
            output.name, print_shape(value.view.shape), print_shape(output.tensor.shape));
      }
      copy_elements(value.view, output.tensor);
    }
  }
  return {};
}

}  // namespace intarsia
