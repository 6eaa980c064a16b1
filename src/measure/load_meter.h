// Load of other processes, which take cores away while something is timed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/core_set.h"

namespace intarsia {

/// Meter of what others take, from when it is made, of the cores that the calling thread may use: the time
/// that these cores worked, as Linux counts it in /proc/stat (with what a hypervisor took), minus the CPU
/// time of this process.
class LoadMeter {
 public:
  LoadMeter();
  /// Checks whether others have taken cores that `threads` threads of this process needed (are_disturbed()).
  /// Returns false where the system does not tell.
  bool is_disturbed(int threads) const;

 private:
  CoreSet cores_;
  int64_t began_, own_before_, all_before_;  // nanoseconds
};

/// Returns the nanoseconds that the cores have worked, from the text of /proc/stat, where a second has
/// `ticks_per_second`.
int64_t read_core_work(std::string_view text, const CoreSet& cores, int64_t ticks_per_second);

/// Checks whether the `others` nanoseconds that others took of `cores` cores in `elapsed` nanoseconds exceed
/// what `threads` threads leave free, by more than 5% of all cores and the error of counting in ticks.
bool are_disturbed(int threads, int cores, int64_t others, int64_t elapsed);

}  // namespace intarsia
