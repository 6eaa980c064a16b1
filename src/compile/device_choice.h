// Which devices a plan uses, and why not the others.
#pragma once

#include <string>
#include <vector>

#include "compile/compile_model.h"

namespace intarsia {

struct DeviceChoice {
  std::string device;   // "sim:0"
  std::string slot;     // empty: it was not offered to the planner
  size_t regions = 0;   // of the plan that ships
  std::string why_not;  // "everything there takes 31 ms, the plan 6.2 ms"; empty: it is used
};

/// Of each slot, then of each device of the machine that the request's "auto" left out.
std::vector<DeviceChoice> explain_devices(const CompiledFunction& function, const CompileRequest& request);

}  // namespace intarsia
