// Pipelines in the extension module.
#pragma once

#include <nanobind/nanobind.h>

#include <intarsia/intarsia.hpp>
#include <memory>

namespace intarsia_python {

/// Program as other parts of the module see it.
struct ProgramHandle {
  std::shared_ptr<intarsia_program> program;
};

inline intarsia::OnDeviceLost on_device_lost(bool is_error) {
  return is_error ? intarsia::OnDeviceLost::error : intarsia::OnDeviceLost::alternative;
}

/// Adds PipelineBuilder and Pipeline.
void define_pipelines(nanobind::module_& module);

}  // namespace intarsia_python
