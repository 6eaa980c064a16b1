// Whether other processes take cores away while something is timed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/core_set.h"

namespace intarsia {

/// Watches, from when it is made, what others take of the cores that the calling thread may use: the time
/// that these cores worked, as Linux counts it in /proc/stat (with what a hypervisor took), less the CPU time
/// of this process.
class LoadMeter {
 public:
  LoadMeter();
  /// Since then, did others take cores that so many threads of this process needed (are_disturbed)? False
  /// where the system does not tell.
  bool is_disturbed(int threads) const;

 private:
  CoreSet cores_;
  int64_t began_, own_before_, all_before_;  // nanoseconds
};

/// Nanoseconds that the cores have worked, by the text of /proc/stat, where a second has
/// `ticks_per_second`.
int64_t read_core_work(std::string_view text, const CoreSet& cores, int64_t ticks_per_second);

/// Of `cores` cores others took `others` in `elapsed` nanoseconds: is that more than `threads` threads leave
/// free, by 5% of all, and more than counting in ticks may err?
bool are_disturbed(int threads, int cores, int64_t others, int64_t elapsed);

}  // namespace intarsia
