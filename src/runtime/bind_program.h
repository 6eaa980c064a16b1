// A program with devices: slots bound, constants where they are used, executables made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/devices.h"
#include "runtime/load_program.h"

namespace intarsia {

/// A stage of a function, on one of its executors.
struct StageChoice {
  std::string function = {};  // empty: the only one
  uint32_t stage = 0;         // by number
  uint32_t executor = 0;      // by number: which of the stage's, unless the caller binds its slot
};

struct BindOptions {
  /// (slot, device): {"accel", "sim:1"}. Slots not named go to the device they were compiled for.
  std::vector<std::pair<std::string, std::string>> devices;
  int threads = 0;  // of each session; 0: as compiled, at most the cores of the calling thread
  /// By number, 0 the function itself: each function runs this one and no other. Nothing: the first that can.
  std::optional<uint32_t> alternative = {};
  /// Only this runs: it is the one function of the bound program.
  std::optional<StageChoice> stage = {};
  /// Only times count: where the machine lacks a device, what stands in for it computes nothing
  /// (timed_device()).
  bool may_stand_in = false;
};

/// A constant as executables in a space find it, and where it is for copies; neither where it is not used.
struct PlacedConstant {
  TensorView tensor;
  Place place;
};

/// A function as this machine runs it: the first of its alternatives that could be loaded.
struct BoundFunction {
  const fbs::FunctionT* function = nullptr;
  uint32_t alternative = 0;  // 0: the function itself; else alternatives[alternative - 1]
  std::string targets;       // that it runs on: "halide@cpu + reference@cpu"
  std::string reason;        // why those before it cannot run here; empty: there are none before it
};

/// Immutable: any number of sessions run it at once.
struct BoundProgram {
  std::shared_ptr<const LoadedProgram> program;
  std::vector<BoundFunction> functions;                // as in the description, or one stage
  std::vector<std::shared_ptr<Executor>> executors;    // one per slot; null where it is missing and not used
  std::vector<std::shared_ptr<MemorySpace>> spaces;    // as in the description; null as above
  std::vector<Memory> memory;                          // of the constants outside the host's memory
  std::vector<std::vector<PlacedConstant>> constants;  // [space][constant]
  std::vector<std::vector<ConstTensorView>> region_constants;
  std::vector<std::vector<Place>> region_places;         // of those
  std::vector<std::unique_ptr<Executable>> executables;  // one per region; null: it belongs to an alternative
                                                         // or a stage that does not run
  int threads = 1;

  const fbs::ProgramT& description() const { return program->description(); }
};

/// The error says that a library or device is missing or unfit, for which there are alternatives.
bool is_absence(const Error& error);

/// Bindings to the same devices with the same number of threads share one BoundProgram. Where a library or a
/// device that a function uses is missing or of an unfit version, the function's next alternative runs.
/// Fails, naming slot, device or region, if a slot is unknown or named twice, a device that `options` names
/// is missing or of another kind than the slot, slots that share memory are bound to devices that do not, a
/// function has no alternative that can be loaded, there is no such stage, a backend cannot load its part for
/// another reason, or the program's file was changed in place.
Result<std::shared_ptr<const BoundProgram>> bind_program(const std::shared_ptr<const LoadedProgram>& program,
                                                         const BindOptions& options);

}  // namespace intarsia
