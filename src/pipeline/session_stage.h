// Stages that run a function of a program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/stage.h"
#include "runtime/bind_program.h"

namespace intarsia {

/// Makes stages of sessions of the program, which fall back to alternatives as any session does. Where
/// everything runs in a device's memory there are `frames` stages or, by default, one more than the device
/// runs at once, so that one copies its frame's values while the others run; else there is one. An empty
/// `function` means the program's only one. `note` precedes the session's own note. Errors: as
/// FallbackSession::open(), there is no such function, or it takes or makes values that are not tensors.
Result<std::vector<std::unique_ptr<Stage>>> make_session_stages(std::shared_ptr<const LoadedProgram> program,
                                                                std::string_view function,
                                                                BindOptions options,
                                                                std::optional<uint32_t> frames = {},
                                                                const std::string& note = {});

/// Makes a stage where make_session_stages() failed for lack of a device; it can run once the device is
/// there (Stage::recover()). `options` must name a stage.
Result<std::unique_ptr<Stage>> make_absent_stage(std::shared_ptr<const LoadedProgram> program,
                                                 BindOptions options, Error why);

}  // namespace intarsia
