// Which machine measured times belong to.
#pragma once

#include <string>
#include <vector>

namespace intarsia {

/// What a system says of its machine; what it does not say is empty.
struct MachineFacts {
  std::string cpuinfo;              // /proc/cpuinfo
  std::string board;                // the product, as firmware or the device tree names it
  std::string architecture;         // "x86_64", "aarch64"
  std::string max_khz;              // the highest frequency of a core, in kHz
  std::vector<std::string> caches;  // sizes of a core's caches: "32K"
  unsigned cores = 0;
};

/// "AMD EPYC 9354, 2 cores, caches 32K 32K 1024K". Where the system names no model (ARM), it is made of the
/// distinct implementers and parts of its cores; without them, of the board; without it, of architecture and
/// frequency.
std::string machine_name(const MachineFacts& facts);

/// Of this machine.
MachineFacts read_machine_facts();

}  // namespace intarsia
