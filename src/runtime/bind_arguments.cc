#include "runtime/bind_arguments.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "runtime/check_shape.h"
#include "runtime/prepared_function.h"

namespace intarsia {
namespace {

/// Checks for the alignment of one element, which executables may rely on.
bool is_aligned(const TensorView& tensor) {
  size_t alignment = std::clamp<size_t>(static_cast<size_t>(dtype_bits(tensor.dtype)) / 8, 1, 8);
  if (tensor.dtype == DType::string) alignment = alignof(std::string);
  if (tensor.dtype == DType::c64) alignment = alignof(float);
  return intarsia::is_aligned(tensor.data, alignment);
}

}  // namespace

ArgumentBinder::ArgumentBinder(const fbs::FunctionT& function, std::span<ValueState> values)
    : function_(function),
      values_(values),
      inputs_("input", function, function.inputs),
      outputs_("output", function, function.outputs),
      sizes_(function),
      input_ranges_(function.inputs.size()),
      output_positions_(function.outputs.size()),
      scratch_(values.size()) {}

Status ArgumentBinder::check_tensor(std::string_view what, const NamedTensor& argument,
                                    const ValueState& value) const {
  const DType wanted = static_cast<DType>(value.about->dtype);
  if (argument.tensor.dtype != wanted) {
    return fail("{} '{}' has dtype {}, want {}", what, argument.name, dtype_name(argument.tensor.dtype),
                dtype_name(wanted));
  }
  return check_shape(what, *value.about, argument.tensor.shape);
}

/// Returns the value's own tensor of this dtype and shape, made when first needed.
Tensor& ArgumentBinder::scratch(uint32_t id, const TensorView& like) {
  Tensor& tensor = scratch_[id];
  if (tensor.data() == nullptr || tensor.shape() != like.shape) tensor = Tensor(like.dtype, like.shape);
  return tensor;
}

Status ArgumentBinder::bind_input(const NamedTensor& input, uint32_t id) {
  ValueState& value = values_[id];
  Range& range = input_ranges_[inputs_.given_count() - 1];
  range = {nullptr, nullptr, id, false};
  if (value.is_opaque()) {
    if (input.owner == nullptr) return fail("input '{}' has no value", input.name);
    value.set(TensorView{}, {}, input.owner);
    return {};
  }
  TRY(check_tensor("input", input, value));
  if (sizes_.has_symbols()) TRY(sizes_.tell(*value.about, input.tensor.shape));
  const size_t bytes = input.tensor.bytes();
  if (input.tensor.data == nullptr && bytes > 0) return fail("input '{}' has no data", input.name);
  range.begin = static_cast<const std::byte*>(input.tensor.data);
  range.end = range.begin + bytes;
  if (value.view.shape != input.tensor.shape) value.set_shape(input.tensor.shape);
  if (is_aligned(input.tensor)) {
    value.set_data(input.tensor.data);
  } else {
    Tensor& aligned = scratch(id, input.tensor);
    copy_elements(input.tensor, aligned.view());
    value.set_data(aligned.data());
  }
  return {};
}

/// Checks an output's buffer against the inputs. Returns whether it begins at the address of the input that
/// the output continues.
Result<bool> ArgumentBinder::find_continued(const NamedTensor& output, const ValueState& value) {
  const auto* begin = static_cast<const std::byte*>(output.tensor.data);
  const std::byte* end = begin + output.tensor.bytes();
  const uint32_t continues = value.about->continues;
  bool is_continuing = false;
  for (size_t i = 0; i < inputs_.given_count(); ++i) {
    Range& range = input_ranges_[i];
    if (begin >= range.end || range.begin >= end) continue;
    const bool fits = continues > 0 && function_.inputs[continues - 1] == range.value &&
                      begin == range.begin && range.end <= end;
    if (fits && can_append_.empty())
      return fail(
          "output '{}' begins at the address of input '{}', which it continues; bind with append_in_place, "
          "or give a separate buffer",
          output.name, values_[range.value].about->name);
    if (!fits) return fail("output '{}' overlaps an input's memory; want a separate buffer", output.name);
    if (std::exchange(range.is_continued, true))
      return fail("output '{}' overlaps another output that continues the same input; want a separate buffer",
                  output.name);
    is_continuing = true;
  }
  return is_continuing;
}

/// Checks whether the bytes of the input are the first ones of the output, and stay as they are in this run.
bool ArgumentBinder::can_append(const ValueState& value, uint32_t id) const {
  const ValueState& input = values_[function_.inputs[value.about->continues - 1]];
  const Shape &from = input.view.shape, &to = value.view.shape;
  const size_t axis = value.about->continued_axis;
  return can_append_[id] && from.size() == to.size() && axis < to.size() &&
         std::all_of(
             to.begin(), to.begin() + static_cast<std::ptrdiff_t>(axis),
             [](int64_t size) { return size == 1; });
}

Status ArgumentBinder::allocate(NamedTensor& output, const ValueState& value) const {
  const DType dtype = static_cast<DType>(value.about->dtype);
  const OutputAllocator& allocator = output.allocator;
  if (allocator.allocate == nullptr || dtype == DType::string) {
    const Tensor made(dtype, value.view.shape);
    output.tensor = made.view();
    output.owner = made.owner();
    return {};
  }
  output.tensor = {nullptr, dtype, value.view.shape};
  output.tensor.data = allocator.allocate(allocator.user, output.name, output.tensor);
  if (output.tensor.data != nullptr || output.tensor.bytes() == 0) return {};
  return fail(ErrorKind::out_of_memory, "output '{}': its allocator has no {} bytes for {}", output.name,
              output.tensor.bytes(), print_shape(output.tensor.shape));
}

Status ArgumentBinder::bind_output(NamedTensor& output, uint32_t id) {
  ValueState& value = values_[id];
  bool is_continuing = false;
  if (output.tensor.data == nullptr) {
    if (value.is_dynamic()) return {};  // hand_over() gives the memory that the run made
    TRY(allocate(output, value));
  } else if (!value.is_opaque()) {
    TRY(check_tensor("output", output, value));
    if (sizes_.has_symbols()) TRY(sizes_.check("output", *value.about, output.tensor.shape));
    is_continuing = TRY(find_continued(output, value));
  }
  if (value.is_dynamic()) {
    const bool is_usable =
        !value.is_opaque() && !is_continuing && value.is_on_host() && value.writer != nullptr;
    if (is_usable && is_aligned(output.tensor)) value.writer->offered = output.tensor;
    return {};
  }
  const bool direct = is_aligned(output.tensor) && (!is_continuing || can_append(value, id));
  value.set_data(direct ? output.tensor.data : scratch(id, output.tensor).data());
  return {};
}

void ArgumentBinder::provide_ungiven_outputs() {
  if (outputs_.given_count() == outputs_.size()) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ValueState& value = values_[outputs_.value(i)];
    if (!outputs_.is_given(i) && !value.is_dynamic())
      value.set_data(scratch(outputs_.value(i), value.view).data());
  }
}

Status ArgumentBinder::bind_inputs(std::span<const NamedTensor> inputs) {
  inputs_.start();
  sizes_.start();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t at = TRY(inputs_.find(inputs[i].name, i));
    TRY(bind_input(inputs[i], inputs_.value(at)));
  }
  TRY(inputs_.check_all_given());
  if (!sizes_.has_symbols()) return {};
  for (uint32_t id : function_.inputs) TRY(sizes_.check("input", *values_[id].about, values_[id].view.shape));
  return {};
}

Status ArgumentBinder::bind_outputs(std::span<NamedTensor> outputs) {
  outputs_.start();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t at = TRY(outputs_.find(outputs[i].name, i));
    output_positions_[i] = at;
    TRY(bind_output(outputs[i], outputs_.value(at)));
  }
  provide_ungiven_outputs();
  return {};
}

Status ArgumentBinder::hand_over(std::span<NamedTensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    NamedTensor& output = outputs[i];
    ValueState& value = values_[outputs_.value(output_positions_[i])];
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
