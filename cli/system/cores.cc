#include "cli/system/cores.h"

#include <sched.h>

#include <algorithm>

std::vector<int> cores_of_process() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

int threads_of_run(int wanted, uint32_t compiled_for) {
  const int cores = std::max(static_cast<int>(cores_of_process().size()), 1);
  return std::clamp(wanted > 0 ? wanted : static_cast<int>(compiled_for), 1, cores);
}
