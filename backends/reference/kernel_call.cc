#include "backends/reference/kernel_call.h"

#include <exception>
#include <new>

namespace intarsia::reference {
namespace {

class SlotContext : public KernelContext {
 public:
  SlotContext(const Attributes& attributes, int version, std::span<const ConstTensorView* const> inputs,
              std::span<OutputSlot> outputs)
      : slots_(outputs), wanted_storage_(new bool[outputs.size()]) {
    attributes_ = &attributes;
    version_ = version;
    inputs_ = inputs;
    output_count_ = outputs.size();
    for (size_t i = 0; i < outputs.size(); ++i) wanted_storage_[i] = outputs[i].wanted;
    wanted_ = {wanted_storage_.get(), outputs.size()};
  }

  Result<TensorView> output(size_t i, DType dtype, const Shape& shape) override {
    if (!wants_output(i)) return fail("the kernel sets output {}, which is not wanted", i);
    OutputSlot& slot = slots_[i];
    if (slot.given) return fail("the kernel sets output {} twice", i);
    slot.given = true;
    if (slot.dynamic) return make_dynamic(slot, dtype, shape);
    if (slot.view.dtype != dtype || slot.view.shape != shape) {
      return fail("output {} is {} {}, planned as {} {}", i, dtype_name(dtype), print_shape(shape),
                  dtype_name(slot.view.dtype), print_shape(slot.view.shape));
    }
    return slot.view;
  }

 private:
  static Result<TensorView> make_dynamic(OutputSlot& slot, DType dtype, const Shape& shape) {
    TRY(checked_elements(shape));
    Tensor tensor(dtype, shape);
    slot.view = tensor.view();
    slot.owner = tensor.owner();
    return slot.view;
  }

  std::span<OutputSlot> slots_;
  std::unique_ptr<bool[]> wanted_storage_;
};

}  // namespace

Status call_kernel(const KernelFunction& kernel, const Attributes& attributes, int version,
                   std::span<const ConstTensorView* const> inputs, std::span<OutputSlot> outputs) {
  SlotContext context(attributes, version, inputs, outputs);
  try {
    TRY(kernel(context));
  } catch (const std::bad_alloc&) {
    return fail("not enough memory for an output or for scratch");
  } catch (const std::length_error&) {
    return fail("not enough memory: a size is beyond all limits");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].wanted && !outputs[i].given) return fail("the kernel does not set output {}", i);
  }
  return {};
}

}  // namespace intarsia::reference
