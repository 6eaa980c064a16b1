// Pipelines in the extension module.
#pragma once

#include <intarsia/intarsia.h>
#include <nanobind/nanobind.h>

#include <memory>

namespace intarsia_python {

/// What a Program is to other parts of the module.
struct ProgramHandle {
  std::shared_ptr<intarsia_program> program;
};

/// Adds PipelineBuilder and Pipeline.
void define_pipelines(nanobind::module_& module);

}  // namespace intarsia_python
