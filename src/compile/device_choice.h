// Devices that a plan uses, and reasons for leaving out the others.
#pragma once

#include <string>
#include <vector>

#include "compile/compile_model.h"

namespace intarsia {

struct DeviceChoice {
  std::string device;   // "sim:0"
  std::string slot;     // empty if the planner could not use it
  size_t regions = 0;   // regions it runs of the plan that ships
  std::string why_not;  // "everything there takes 31 ms, the plan 6.2 ms"; empty if it is used
};

/// Explains the choice for each slot, then for each device of the machine that the request's "auto" left out.
std::vector<DeviceChoice> explain_devices(const CompiledFunction& function, const CompileRequest& request);

}  // namespace intarsia
