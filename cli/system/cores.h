// Cores that this process may use.
#pragma once

#include <cstdint>
#include <vector>

/// Returns the system's numbers of the cores, ascending.
std::vector<int> cores_of_process();

/// Returns the threads of a run: `wanted` or, where that is 0, those that the program was compiled for; at
/// most the cores of the process.
int threads_of_run(int wanted, uint32_t compiled_for);
