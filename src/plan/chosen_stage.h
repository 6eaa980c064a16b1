// Devices that a stage of a pipeline runs on, and its times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace intarsia {

struct ChosenStage {
  uint32_t slot = 0;                   // slot of the problem
  std::vector<std::string> executors;  // devices that the slot is bound to, one per replica
  double rate = 1;                     // frames of all executors while the first one does one
  uint32_t frames = 1;                 // frames that an executor has at a time
  /// Nanoseconds between two frames of the first executor, from the times of the stage's parts.
  std::optional<int64_t> predicted{};
  /// Nanoseconds between two frames of the first executor, from the times of the stage's regions.
  std::optional<int64_t> measured{};
  /// Nanoseconds of the stage's regions alone, without copies.
  std::optional<int64_t> measured_run{};

  bool is_timed() const { return measured_run.has_value(); }
};

}  // namespace intarsia
