#include "backends/kernels/load.h"

#include <filesystem>

#include "backends/kernels/kernel_library.h"
#include "backends/reference/plan_executable.h"

namespace intarsia {
namespace kernels {
namespace {

using reference::KernelContext;

/// A user's kernel as the plan's executor calls it.
class UserKernel {
 public:
  UserKernel(std::shared_ptr<const KernelLibrary> library, const intarsia_kernel* kernel, std::string op,
             std::string domain)
      : library_(std::move(library)), kernel_(kernel), op_(std::move(op)), domain_(std::move(domain)) {}

  Status operator()(KernelContext& context) const {
    const NodeDescription node(op_, domain_, context.version(), context.attributes());
    std::vector<intarsia_kernel_tensor> inputs(context.input_count());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!context.has_input(i)) continue;
      const ConstTensorView& view = context.input(i);
      inputs[i] = TRY(with_context(describe_tensor(view.dtype, view.shape), "input {}", i));
      inputs[i].data = const_cast<void*>(view.data);  // the interface has no const; kernels only read inputs
    }
    std::vector<intarsia_kernel_tensor> outputs(context.output_count());
    TRY(infer_outputs(*kernel_, node, inputs, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!context.wants_output(i)) {
        outputs[i] = {};
        continue;
      }
      const Shape shape(outputs[i].sizes, outputs[i].sizes + outputs[i].rank);
      outputs[i].data = TRY(context.output(i, static_cast<DType>(outputs[i].dtype), shape)).data;
    }
    return run_kernel(*kernel_, node, inputs, outputs);
  }

 private:
  std::shared_ptr<const KernelLibrary> library_;
  const intarsia_kernel* kernel_;
  std::string op_, domain_;
};

/// Opens the library at its recorded path, or by its name next to the program.
Result<std::shared_ptr<const KernelLibrary>> open_recorded(const std::string& path,
                                                           const std::string& folder) {
  const std::filesystem::path sibling =
      std::filesystem::path(folder.empty() ? "." : folder) / std::filesystem::path(path).filename();
  std::error_code error;
  if (std::filesystem::exists(path, error)) return KernelLibrary::open(path);
  if (std::filesystem::exists(sibling, error)) return KernelLibrary::open(sibling.string());
  return fail(ErrorKind::not_found,
              "the user's kernel library is neither at '{}' nor at '{}': copy it next to the program", path,
              sibling.string());
}

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  reference::RegionPlan plan = TRY(reference::decode_plan(context.blob));
  if (context.constants.size() != plan.constants)
    return fail("the region wants {} constants, got {}", plan.constants, context.constants.size());
  std::vector<reference::KernelFunction> functions;
  for (const reference::PlannedCall& call : plan.calls) {
    auto library =
        TRY(with_context(open_recorded(call.library, context.program_folder), "node '{}'", call.name));
    const intarsia_kernel* kernel = library->find(call.domain, call.op);
    if (kernel == nullptr)
      return fail("node '{}': '{}' has no kernel for {}.{} any more", call.name, library->path(), call.domain,
                  call.op);
    functions.push_back(UserKernel(std::move(library), kernel, call.op, call.domain));
  }
  return reference::make_plan_executable(std::move(plan), std::move(functions),
                                         {context.constants.begin(), context.constants.end()});
}

}  // namespace
}  // namespace kernels

RunBackend kernels_run_backend() {
  return {.name = "kernels", .load = kernels::load, .searches_folder = true};
}

}  // namespace intarsia
