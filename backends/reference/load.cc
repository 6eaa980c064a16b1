#include "backends/reference/load.h"

#include "backends/reference/plan_executable.h"

namespace intarsia {
namespace reference {
namespace {

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  RegionPlan plan = TRY(decode_plan(context.blob));
  if (context.constants.size() != plan.constants) {
    return fail("the reference region wants {} constants, got {}", plan.constants, context.constants.size());
  }
  std::vector<KernelFunction> kernels;
  for (const PlannedCall& call : plan.calls) {
    const Kernel kernel = find_kernel(call.domain, call.op);
    if (kernel == nullptr) {
      return fail("node '{}': this build has no reference kernel for {}{}{}; compile the model again",
                  call.name, call.domain, call.domain.empty() ? "" : ".", call.op);
    }
    kernels.push_back(kernel);
  }
  std::vector<ConstTensorView> constants(context.constants.begin(), context.constants.end());
  return make_plan_executable(std::move(plan), std::move(kernels), std::move(constants));
}

}  // namespace
}  // namespace reference

RunBackend reference_run_backend() { return {"reference", reference::load}; }

}  // namespace intarsia
