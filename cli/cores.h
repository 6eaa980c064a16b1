// The cores that this process may use.
#pragma once

#include <cstdint>
#include <vector>

/// By their numbers in the system, ascending.
std::vector<int> cores_of_process();

/// Of a run of a program that was compiled for so many, where `wanted` is 0; at most the cores of the
/// process.
int threads_of_run(int wanted, uint32_t compiled_for);
