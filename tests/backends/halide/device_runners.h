// Devices of this machine, for tests of kernels on them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/by_name/devices.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"

namespace intarsia::test {

/// Device of this machine and a form of kernels that it runs.
struct Runner {
  std::string name;
  std::shared_ptr<Executor> device;
  halide::KernelDevice kernels;
};

/// Returns what can run kernels here. An OpenCL device runs those for processors and those for GPUs.
inline std::vector<Runner> find_runners() {
  std::vector<Runner> runners;
  const auto add = [&](const char* name, std::initializer_list<halide::KernelDevice> forms) {
    if (const auto device = make_device(name))
      for (halide::KernelDevice form : forms) runners.push_back({name, *device, form});
  };
  add("opencl:0", {halide::KernelDevice::opencl, halide::KernelDevice::opencl_gpu});
  add("cuda:0", {halide::KernelDevice::cuda});
  return runners;
}

/// Returns what a case of many runs on: one of the forms of kernels that a device runs; with more rounds,
/// all.
inline std::vector<Runner> find_runners(std::string_view case_name) {
  std::vector<Runner> runners = find_runners();
  const auto unused =
      form_of(case_name) == 0 ? halide::KernelDevice::opencl_gpu : halide::KernelDevice::opencl;
  if (rounds() == 1) std::erase_if(runners, [&](const Runner& runner) { return runner.kernels == unused; });
  return runners;
}

inline std::string describe(const Runner& runner) {
  return fmt::format("kernels of form {} on {}", static_cast<int>(runner.kernels), runner.name);
}

}  // namespace intarsia::test
