// Programs bound to devices: slots bound, constants placed where they are used, executables made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/by_name/devices.h"
#include "runtime/load_program.h"

namespace intarsia {

/// Stage of a function, on one of its executors.
struct StageChoice {
  std::string function = {};  // name of the function; empty: the only one
  uint32_t stage = 0;         // number of the stage
  uint32_t executor = 0;      // number among the stage's executors, unless the caller binds its slot
};

/// Reaction of a session to a device that is lost within a run.
enum class OnDeviceLost : uint8_t { alternative, error };

/// Alternatives of a function that are not tried.
struct PassedOver {
  uint32_t first = 0;  // number of the first one that is tried
  std::string reason;  // reason why none before it is
};

/// Options of a session that do not change what is bound.
struct SessionOptions {
  /// Most bytes that values of open size may take in each space; 0: no limit.
  uint64_t max_arena_bytes = 0;
  /// Whether the buffer of an output that continues an input may begin at the input's address.
  bool append_in_place = false;
};

struct BindOptions {
  /// Pairs (slot, device): {"accel", "sim:1"}. Slots not named go to the device they were compiled for.
  std::vector<std::pair<std::string, std::string>> devices;
  int threads = 0;  // threads of each session; 0: as compiled, at most the calling thread's cores
  /// Number of the only alternative that functions may run, 0: themselves; nullopt: the first that can run.
  std::optional<uint32_t> alternative = {};
  /// Alternatives that are not tried, by function of the program; empty: all are tried.
  std::vector<PassedOver> passed_over = {};
  OnDeviceLost on_device_lost = OnDeviceLost::alternative;  // used by FallbackSession
  /// Stage that runs alone, as the one function of the bound program.
  std::optional<StageChoice> stage = {};
  SessionOptions session = {};
  /// Whether only times count: a device that the machine lacks then has a stand-in that computes nothing
  /// (timed_device()).
  bool may_stand_in = false;
};

/// Constant as executables in a space find it, and its place for copies; both empty where it is not used.
struct PlacedConstant {
  TensorView tensor;
  Place place;
};

/// Function as this machine runs it: the first of its alternatives that could be loaded.
struct BoundFunction {
  const fbs::FunctionT* function = nullptr;
  uint32_t alternative = 0;  // 0: the function itself; else alternatives[alternative - 1]
  std::string targets;       // targets that it runs on: "halide@cpu + reference@cpu"
  std::string reason;        // reason why those before it cannot run here; empty: none are before it
  /// Specializations of the function that run here; none of an alternative, or of a stage.
  std::vector<const fbs::FunctionT*> specializations = {};

  /// Calls `visit` on the function and on its specializations.
  template <typename Visit>
  void for_each_way(const Visit& visit) const {
    visit(*function);
    for (const fbs::FunctionT* specialization : specializations) visit(*specialization);
  }
};

/// Bound program; immutable, so that any number of sessions can run it at once.
struct BoundProgram {
  std::shared_ptr<const LoadedProgram> program;
  std::vector<BoundFunction> functions;                // ordered as in the description, or one stage
  std::vector<std::shared_ptr<Executor>> executors;    // one per slot; null if missing and not used
  std::vector<std::shared_ptr<MemorySpace>> spaces;    // ordered as in the description; null likewise
  std::vector<Memory> memory;                          // memory of the constants outside the host's
  std::vector<std::vector<PlacedConstant>> constants;  // [space][constant]
  std::vector<std::vector<ConstTensorView>> region_constants;
  std::vector<std::vector<Place>> region_places;         // places of region_constants
  std::vector<std::unique_ptr<Executable>> executables;  // one per region; null if nothing runs it
  int threads = 1;

  const fbs::ProgramT& description() const { return program->description(); }
};

/// Checks for an error that a library or device is missing or unfit, which alternatives are for.
bool is_absence(const Error& error);

/// Binds a program. Bindings to the same devices with the same number of threads share one BoundProgram.
/// Where a library or a device that a function uses is missing or of an unfit version, or a device other than
/// the host refuses the function's constants or code, the function's next alternative runs.
/// Fails, naming slot, device or region, if a slot is unknown or named twice, a device that `options` names
/// is missing or of another kind than the slot, slots that share memory are bound to devices that do not, a
/// function has no alternative that can be loaded, there is no such stage, a backend cannot load its part for
/// another reason, or the program's file was changed in place.
Result<std::shared_ptr<const BoundProgram>> bind_program(const std::shared_ptr<const LoadedProgram>& program,
                                                         const BindOptions& options);

}  // namespace intarsia
