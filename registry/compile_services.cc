#include "api/compile_services.h"

#include <algorithm>

#include "backends/kernels/target.h"
#include "backends/plugin/target.h"
#include "backends/reference/evaluate.h"
#include "backends/reference/target.h"
#include "backends/tensorflow/saved_model.h"
#include "base/cpu_level.h"
#include "compile/control_flow_target.h"
#include "compile/translating_target.h"
#include "plugin/loaded_plugins.h"
#include "registry/open_targets.h"
#include "target/absent_target.h"

namespace intarsia {
namespace {

enum class Kind {
  native,
  of_onnx,        // the framework that ONNX models come from
  of_tensorflow,  // the framework that TensorFlow models come from
  of_vendor       // a processor vendor's library, for models of every kind
};

struct Entry {
  const char* name;
  Kind kind;
  TargetResult (*open)(const CompileRequest& request);
  Status (*find)() = nullptr;  // checks for a library that is only opened on first need
};

/// Table of all backends, the only one, in order of preference. The user's own kernels and plug-ins come
/// before it.
constexpr Entry backends[] = {
    {"halide", Kind::native, open_halide_target},
    {"onnxruntime", Kind::of_onnx, open_onnxruntime_target},
    {"tensorflow", Kind::of_tensorflow, open_tensorflow_target},
    {"openvino", Kind::of_vendor, open_openvino_target, find_openvino},
    {"reference", Kind::native,
     [](const CompileRequest&) -> TargetResult { return make_reference_target(); }},
};

/// Adds the plug-ins that can compile, and that the list of backends does not leave out.
Status add_plugins(const CompileRequest& request, CompileServices& services) {
  TRY(check_plugins_of_environment());
  for (auto& plugin : loaded_plugins()) {
    const auto& listed = request.backends;
    const bool is_listed = listed.empty() || std::ranges::find(listed, plugin->name()) != listed.end();
    if (is_listed && plugin->compiler() != nullptr)
      services.backends.push_back(
          make_translating_target(make_plugin_target(std::move(plugin)), services.evaluate));
  }
  return {};
}

/// Makes the target of branches and loops, whose bodies our own backends compile.
std::unique_ptr<Target> make_control_flow(const CompileServices& services) {
  std::vector<const Target*> natives;
  for (const auto& target : services.backends)
    if (target->info().is_native()) natives.push_back(target.get());
  return make_control_flow_target(std::move(natives), services.evaluate);
}

bool is_wanted(const Entry& entry, const CompileRequest& request) {
  if (entry.kind != Kind::native && !request.allow_fallback) return false;
  if (!request.backends.empty())
    return std::ranges::find(request.backends, entry.name) != request.backends.end();
  if (entry.kind == Kind::native || entry.kind == Kind::of_vendor) return true;
  const bool is_onnx = find_model_format(request.model_path) == ModelFormat::onnx;
  return (entry.kind == Kind::of_onnx) == is_onnx;
}

/// Checks for an architecture on which frameworks were tried.
bool has_frameworks(Arch arch) { return arch == Arch::x86_64 || arch == Arch::aarch64; }

/// Opens the target of a backend.
TargetResult open_target(const Entry& entry, const CompileRequest& request) {
  if (!is_wanted(entry, request)) return fail("excluded by --backends, --fallback or the kind of the model");
  const Arch arch = TRY(resolve_cpu(request.cpu)).arch;
  if (entry.kind != Kind::native && !has_frameworks(arch))
    return fail("programs for {} use no framework: leave the operator out, or write a kernel of your own",
                arch_name(arch));
  return entry.open(request);
}

}  // namespace

Result<CompileServices> make_compile_services(const CompileRequest& request,
                                              const std::vector<std::string>& kernel_libraries) {
  CompileServices services;
  services.evaluate = reference::evaluate_node;
  services.tensorflow = make_tensorflow_source(request.op_libraries);
  if (!kernel_libraries.empty()) services.backends.push_back(TRY(make_kernels_target(kernel_libraries)));
  TRY(add_plugins(request, services));
  std::vector<std::unique_ptr<Target>> absent;
  for (const Entry& entry : backends) {
    TargetResult target = open_target(entry, request);
    if (target) {
      const bool takes_ours = entry.kind != Kind::of_tensorflow;
      services.backends.push_back(takes_ours ? make_translating_target(std::move(*target), services.evaluate)
                                             : std::move(*target));
    } else {
      absent.push_back(make_absent_target(entry.name, target.error().message, entry.kind != Kind::native));
    }
  }
  services.control_flow = make_control_flow(services);
  std::ranges::move(absent, std::back_inserter(services.backends));
  return services;
}

std::vector<BackendInfo> list_backends() {
  std::vector<BackendInfo> list;
  for (const auto& plugin : loaded_plugins()) {
    const bool compiles = plugin->compiler() != nullptr;
    list.push_back({plugin->name(), plugin->version(), compiles,
                    compiles ? "" : "its plug-in runs programs and compiles none"});
  }
  for (const Entry& entry : backends) {
    const Status found = entry.find == nullptr ? Status() : entry.find();
    const TargetResult target = found ? entry.open({}) : tl::unexpected(found.error());
    if (target) {
      list.push_back({entry.name, (*target)->version(), true, {}});
    } else {
      list.push_back({entry.name, {}, false, target.error().message});
    }
  }
  return list;
}

}  // namespace intarsia
