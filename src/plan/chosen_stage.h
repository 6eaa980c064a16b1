// Where a stage of a pipeline runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace intarsia {

struct ChosenStage {
  uint32_t slot = 0;                   // of the problem
  std::vector<std::string> executors;  // devices that the slot is bound to, one a replica
  std::optional<int64_t> predicted{};  // nanoseconds of a frame on one of them, by the times of its parts
  std::optional<int64_t> measured{};   // the same by those of its regions
};

}  // namespace intarsia
