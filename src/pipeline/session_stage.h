// A function of a program as a stage.
#pragma once

#include <memory>
#include <string>

#include "pipeline/stage.h"
#include "runtime/bind_program.h"

namespace intarsia {

/// `function` empty: the program's only one. Error: there is no such function, or it takes or makes values
/// that are not tensors.
Result<std::unique_ptr<Stage>> make_session_stage(std::shared_ptr<const BoundProgram> program,
                                                  std::string_view function);

}  // namespace intarsia
