// Regions on boards with a Cortex-M that QEMU emulates (tests/support/board).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "target/target.h"

namespace intarsia::test {

/// Processors of the boards.
inline constexpr std::array boards = {"cortex-m4", "cortex-m7", "cortex-m55"};

/// Checks whether this machine has what runs programs of boards: arm-none-eabi-gcc, newlib, QEMU and Clang.
bool has_boards();

struct BoardRun {
  std::vector<Tensor> outputs;
  std::string log;  // what the program and the emulator printed
};

/// Runs a compiled region of a graph, for "cortex-m4", "cortex-m7" or "cortex-m55", in the emulator, `times`
/// times: its objects and a program in C, of its plan, are linked with newlib.
Result<BoardRun> run_on_board(const std::string& cpu, const Graph& graph, const CompiledRegion& region,
                              const std::vector<Tensor>& inputs, int times = 1);

/// Counts the instructions of a run of the region.
Result<int64_t> count_on_board(const std::string& cpu, const Graph& graph, const CompiledRegion& region,
                               const std::vector<Tensor>& inputs);

}  // namespace intarsia::test
