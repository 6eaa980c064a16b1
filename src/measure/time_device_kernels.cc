#include "measure/time_device_kernels.h"

#include "base/code/loaded_code.h"
#include "compile/link_objects.h"
#include "program/verify_machine.h"

namespace intarsia {
namespace {

constexpr int device_rounds = 6;  // rounds after a warm-up round

/// Constants of a region in a device's memory.
struct DeviceConstants {
  std::vector<ConstTensorView> views;
  std::vector<Memory> memory;
  std::vector<Place> places;
};

Result<DeviceConstants> upload_constants(const CompiledRegion& region, MemorySpace& space) {
  DeviceConstants made;
  for (const Tensor& constant : region.constants) {
    made.views.push_back(constant.view());
    made.memory.push_back(TRY(space.allocate(constant.bytes())));
    made.places.push_back({made.memory.back().handle(), 0});
    TRY(space.upload(made.places.back(), constant.data(), constant.bytes()));
  }
  return made;
}

}  // namespace

Result<std::vector<Timing>> time_device_kernels(const KernelBatch& batch, const RunBackend& backend,
                                                Executor& device, const std::function<bool()>& is_cancelled) {
  const CompiledRegion& region = batch.region;
  const std::string library = TRY(link_objects(region.object_files, machine_arch()));
  const LoadedCode code = TRY(with_context(
      LoadedCode::load(std::as_bytes(std::span(library)), "intarsia-kernels"), "timing kernels"));
  const DeviceConstants constants = TRY(upload_constants(region, *device.space()));
  const LoadContext load{.blob = std::as_bytes(std::span(region.blob)),
                         .constants = constants.views,
                         .symbol = [&](const std::string& name) { return code.symbol(name); },
                         .program_folder = {},
                         .workspace_bytes = region.workspace_bytes,
                         .executor = device.name(),
                         .constant_places = constants.places};
  const std::unique_ptr<Executable> executable = TRY(device.adapt(TRY(backend.load(load)), {}));
  const Memory workspace = TRY(device.space()->allocate(region.workspace_bytes));
  RunContext context{.inputs = {}, .outputs = {}, .workspace_place = {workspace.handle(), 0}};
  TRY(device.run(*executable, context));
  std::vector<std::vector<int64_t>> all_rounds(batch.uses.size());
  size_t next = 0;
  const TraceHook trace = [&](std::string_view, int64_t begin, int64_t end) {
    INTARSIA_CHECK(next < all_rounds.size());
    all_rounds[next++].push_back(end - begin);
  };
  context.trace = &trace;
  for (int round = 0; round < device_rounds; ++round) {
    if (is_cancelled && is_cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    next = 0;
    TRY(device.run(*executable, context));
  }
  std::vector<Timing> timings;
  for (std::vector<int64_t>& of_kernel : all_rounds)
    timings.push_back(summarize_rounds(std::move(of_kernel)));
  return timings;
}

}  // namespace intarsia
