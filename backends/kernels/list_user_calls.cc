#include "backends/kernels/list_user_calls.h"

#include "kernels/kernel_headers.h"

namespace intarsia::kernels {
namespace {

using reference::Place;

/// Lister of the calls of a region.
class CallLister {
 public:
  CallLister(const Graph& region, const reference::RegionPlan& plan) : region_(region), plan_(plan) {}

  RegionCalls list() {
    for (const reference::PlannedCall& call : plan_.calls)
      made_.user_calls.push_back({call.name, call.domain, call.op, call.version, call.attributes,
                                  tensors(call.inputs), tensors(call.outputs)});
    made_.sources = {{"user_kernels.h", user_kernels_header}, {"intarsia/kernel.h", kernel_header}};
    return std::move(made_);
  }

 private:
  std::vector<CallTensor> tensors(const std::vector<uint32_t>& values) {
    std::vector<CallTensor> made;
    for (const uint32_t value : values)
      made.push_back(value == reference::left_out ? CallTensor{} : tensor_of(value));
    return made;
  }

  CallTensor tensor_of(uint32_t number) {
    const reference::PlannedValue& value = plan_.values[number];
    const ValueType& type = region_.values[number].type;
    CallTensor tensor{.index = value.index, .dtype = type.dtype};
    if (type.shape) tensor.extents = *type.shape;
    switch (value.place) {
      case Place::input:
        tensor.where = CallTensor::Where::input;
        break;
      case Place::output:
        tensor.where = CallTensor::Where::output;
        break;
      case Place::constant:
        tensor.where = CallTensor::Where::constant;
        break;
      case Place::workspace:
        tensor.offset = static_cast<int64_t>(value.offset);
        break;
      default:
        made_.why_not = fmt::format("'{}' is text, or its sizes are known to a run only", value.name);
    }
    return tensor;
  }

  const Graph& region_;
  const reference::RegionPlan& plan_;
  RegionCalls made_;
};

}  // namespace

RegionCalls list_user_calls(const Graph& region, const reference::RegionPlan& plan) {
  return CallLister(region, plan).list();
}

}  // namespace intarsia::kernels
