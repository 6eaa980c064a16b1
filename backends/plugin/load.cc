#include "backends/plugin/load.h"

#include "backends/plugin/declared_region.h"
#include "backends/plugin/plugin_blob.h"
#include "backends/plugin/plugin_buffers.h"
#include "device/by_name/devices.h"
#include "device/plugin/device.h"
#include "plugin/loaded_plugins.h"

namespace intarsia {
namespace plugin {
namespace {

/// RunContext::trace as a C callback.
void report(void* user, const char* name, int64_t begin_ns, int64_t end_ns) {
  (*static_cast<const TraceHook*>(user))(name == nullptr ? "" : name, begin_ns, end_ns);
}

class PluginExecutable : public Executable {
 public:
  PluginExecutable(std::shared_ptr<PluginExecutor> executor, const BlobHeader& header)
      : executor_(std::move(executor)), inputs_(header.inputs), outputs_(header.outputs) {}
  ~PluginExecutable() override {
    if (executable_ != nullptr)
      device().release([this] { runtime().unload(device().handle(), executable_); });
  }
  PluginExecutable(const PluginExecutable&) = delete;
  PluginExecutable& operator=(const PluginExecutable&) = delete;

  /// Loads the executable; call it once, before any run.
  Status load(const LoadContext& context, std::span<const std::byte> bytes) {
    Buffers constants(context.constants.size());
    for (size_t i = 0; i < constants.size(); ++i)
      TRY(constants.set(i, context.constants[i].dtype, context.constants[i].shape,
                        context.constant_places[i]));
    const intarsia_plugin_load request{sizeof(request),  bytes.data(),    bytes.size(),
                                       constants.size(), constants.get(), context.workspace_bytes};
    has_workspace_ = context.workspace_bytes > 0;
    TRY(device().call("load", [&](const auto* message) {
      return runtime().load(device().handle(), &request, &executable_, message);
    }));
    if (executable_ == nullptr) return device().wrong_answer("load", "it gave no executable");
    return {};
  }

  Status run(const RunContext& context) const override {
    if (context.inputs.size() != inputs_ || context.outputs.size() != outputs_)
      return fail(ErrorKind::corrupt, "want {} inputs and {} outputs, got {} and {}", inputs_, outputs_,
                  context.inputs.size(), context.outputs.size());
    Buffers inputs(inputs_), outputs(outputs_);
    for (size_t i = 0; i < inputs_; ++i)
      TRY(inputs.set(i, context.inputs[i].tensor.dtype, context.inputs[i].tensor.shape, {}));
    TRY(find_shapes(context, inputs, outputs));
    for (size_t i = 0; i < inputs_; ++i)
      inputs.set_place(i, place_of(context.inputs[i].tensor.data, context.inputs[i].place));
    for (size_t i = 0; i < outputs_; ++i) TRY(place_output(context.outputs[i], outputs, i));
    return start(context, inputs, outputs);
  }

 private:
  const PluginDevice& device() const { return *executor_->device(); }
  const intarsia_plugin_runtime& runtime() const { return device().runtime(); }

  /// Returns the place of a buffer; in unified memory a handle is an address.
  Place place_of(const void* address, const Place& place) const {
    return executor_->space()->is_host() ? Place{const_cast<void*>(address), 0} : place;
  }

  /// Sets the types of all outputs: those of the plan, and what the plug-in says.
  Status find_shapes(const RunContext& context, const Buffers& inputs, Buffers& outputs) const {
    if (runtime().shapes != nullptr) {
      TRY(device().call("shapes", [&](const auto* message) {
        return runtime().shapes(device().handle(), executable_, inputs.get(), inputs.size(), outputs.get(),
                                outputs.size(), message);
      }));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      Output& output = context.outputs[i];
      if (runtime().shapes != nullptr) TRY(check_type(outputs[i], output, i));
      if (output.dynamic && runtime().shapes == nullptr)
        return device().wrong_answer("run",
                                     fmt::format("the size of output {} is open, which needs shapes()", i));
      TRY(outputs.set(i, output.tensor.dtype, output.tensor.shape, {}));
    }
    return {};
  }

  /// Checks that what the plug-in says is what the plan has; it becomes what the plan left open.
  Status check_type(const intarsia_plugin_buffer& told, Output& output, size_t i) const {
    const Result<TensorView> read = read_type(told);
    if (!read)
      return device().wrong_answer("shapes", fmt::format("output {} has {}", i, read.error().message));
    if (output.dynamic) {
      output.tensor = *read;
    } else if (read->dtype != output.tensor.dtype || read->shape != output.tensor.shape) {
      return device().wrong_answer(
          "shapes", fmt::format("output {} has {} {}, planned as {} {}", i, dtype_name(read->dtype),
                                print_shape(read->shape), dtype_name(output.tensor.dtype),
                                print_shape(output.tensor.shape)));
    }
    return {};
  }

  Status place_output(Output& output, Buffers& outputs, size_t i) const {
    if (output.dynamic) {
      const Memory memory = TRY(executor_->space()->allocate(output.tensor.bytes()));
      output.place = {memory.handle(), 0};
      output.tensor.data = executor_->space()->address(output.place);
      output.owner = memory.owner();
    }
    outputs.set_place(i, place_of(output.tensor.data, output.place));
    return {};
  }

  Status start(const RunContext& context, const Buffers& inputs, const Buffers& outputs) const {
    intarsia_plugin_run run{};
    run.struct_size = sizeof(run);
    run.input_count = inputs.size();
    run.inputs = inputs.get();
    run.output_count = outputs.size();
    run.outputs = outputs.get();
    if (has_workspace_) {
      run.workspace = context.workspace_place.memory;
      run.workspace_offset = context.workspace_place.offset;
    }
    if (context.trace != nullptr) {
      run.report = report;
      run.user = const_cast<TraceHook*>(context.trace);
    }
    return device().call_and_wait("run", [&](auto* event, const auto* message) {
      return runtime().run(device().handle(), executable_, &run, event, message);
    });
  }

  std::shared_ptr<PluginExecutor> executor_;
  size_t inputs_, outputs_;
  bool has_workspace_ = false;
  intarsia_plugin_executable executable_ = nullptr;
};

Status check_version(const Plugin& loaded, const BlobHeader& compiled) {
  if (compiled.name != loaded.name())
    return fail(ErrorKind::corrupt, "the blob is of the plug-in '{}'", compiled.name);
  if (major_of(compiled.version) == major_of(loaded.version())) return {};
  return fail(ErrorKind::version,
              "it was compiled with version {} of the plug-in '{}', and '{}' is of version {}: load one of "
              "version {}.*, or compile the model again",
              compiled.version, loaded.name(), loaded.path(), loaded.version(), major_of(compiled.version));
}

Result<std::unique_ptr<Executable>> load(const Plugin& plugin, const LoadContext& context) {
  const ReadBlob blob = TRY(decode_blob(context.blob));
  TRY(check_version(plugin, blob.header));
  if (blob.header.constants != context.constants.size() ||
      context.constant_places.size() != context.constants.size())
    return fail("the region wants {} constants, got {}", blob.header.constants, context.constants.size());
  if (context.executor.ends_with(declared_setting)) return make_declared_region(blob.header);
  auto executor = std::dynamic_pointer_cast<PluginExecutor>(TRY(make_device(context.executor)));
  if (executor == nullptr || !executor->device()->plugin().is_same(plugin))
    return fail("'{}' is not a device of {}", context.executor, plugin.who());
  auto executable = std::make_unique<PluginExecutable>(std::move(executor), blob.header);
  TRY(executable->load(context, blob.bytes));
  return executable;
}

}  // namespace
}  // namespace plugin

std::vector<RunBackend> plugin_run_backends() {
  std::vector<RunBackend> backends;
  for (const auto& loaded : loaded_plugins())
    backends.push_back(
        {loaded->name(), [loaded](const LoadContext& context) { return plugin::load(*loaded, context); }});
  return backends;
}

}  // namespace intarsia
