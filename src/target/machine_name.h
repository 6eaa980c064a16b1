// Identity of the machine that measured times belong to.
#pragma once

#include <string>
#include <vector>

namespace intarsia {

/// Facts that a system reports about its machine; missing ones are empty.
struct MachineFacts {
  std::string cpuinfo;              // /proc/cpuinfo
  std::string board;                // product, as named by firmware or the device tree
  std::string architecture;         // "x86_64", "aarch64"
  std::string max_khz;              // highest frequency of a core, in kHz
  std::vector<std::string> caches;  // sizes of a core's caches: "32K"
  unsigned cores = 0;
};

/// Returns a name such as "AMD EPYC 9354, 2 cores, caches 32K 32K 1024K". If the system names no model (ARM),
/// the name has the distinct implementers and parts of its cores; without them, the board; without it, the
/// architecture and frequency.
std::string machine_name(const MachineFacts& facts);

/// Reads the facts of this machine.
MachineFacts read_machine_facts();

}  // namespace intarsia
