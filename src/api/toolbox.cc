#include "api/toolbox.h"

#include <algorithm>

#include "api/absent_target.h"
#include "backends/kernels/target.h"
#include "backends/reference/evaluate.h"
#include "backends/reference/target.h"

namespace intarsia {
namespace {

struct Entry {
  const char* name;
  bool is_framework;
  TargetResult (*open)();
};

/// The one list, in order of preference. The user's own kernels come before it.
constexpr Entry backends[] = {
    {"halide", false, open_halide_target},
    {"onnxruntime", true, open_onnxruntime_target},
    {"reference", false, []() -> TargetResult { return make_reference_target(); }},
};

bool is_wanted(const Entry& entry, const CompileRequest& request) {
  if (entry.is_framework && !request.allow_fallback) return false;
  return request.backends.empty() ||
         std::ranges::find(request.backends, entry.name) != request.backends.end();
}

}  // namespace

Result<Toolbox> make_toolbox(const CompileRequest& request,
                             const std::vector<std::string>& kernel_libraries) {
  Toolbox tools;
  tools.evaluate = reference::evaluate_node;
  if (!kernel_libraries.empty()) tools.targets.push_back(TRY(make_kernels_target(kernel_libraries)));
  std::vector<std::unique_ptr<Target>> absent;
  for (const Entry& entry : backends) {
    TargetResult target =
        is_wanted(entry, request) ? entry.open() : fail("not wanted by --backends or --fallback");
    if (target) {
      tools.targets.push_back(std::move(*target));
    } else {
      absent.push_back(make_absent_target(entry.name, target.error().message, entry.is_framework));
    }
  }
  std::ranges::move(absent, std::back_inserter(tools.targets));
  return tools;
}

std::vector<BackendInfo> list_backends() {
  std::vector<BackendInfo> list;
  for (const Entry& entry : backends) {
    const TargetResult target = entry.open();
    if (target) {
      list.push_back({entry.name, (*target)->version(), true, {}});
    } else {
      list.push_back({entry.name, {}, false, target.error().message});
    }
  }
  return list;
}

}  // namespace intarsia
