// Device properties that generated code depends on.
#pragma once

namespace intarsia {

struct DeviceFeatures {
  bool is_gpu = false;  // runs groups of work items side by side
  bool has_f64 = true;  // computes in f64
};

}  // namespace intarsia
