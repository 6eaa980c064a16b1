// Limits on the time to load programs: a framework compiles its regions meanwhile, and cannot be stopped.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

struct LoadingLimits {
  int threads = 1;                      // threads of a run
  double cpu_seconds = 10;              // CPU time for each program, however small
  double cpu_seconds_of_gigabyte = 20;  // additional CPU time for each gigabyte of its file
  std::function<bool()> may_go_on;      // asked several times a second; empty: always
};

/// Returns the error of a program that is not loaded as the time is over; the next compile may load it.
tl::unexpected<Error> no_time_left();

/// Loads and binds each program in a process of its own (intarsia-load), all at the same time, and returns
/// whether this process should do it, too. Errors: timed_out: it takes longer than it may, by the CPU time of
/// its process; cancelled: there is no time left; unknown: loading ended its process; not_found or io: no
/// process can be started. Other failures to load are not errors here: they soon occur in this process, too,
/// which says more.
std::vector<Status> limit_loading(const std::vector<std::string>& programs, const LoadingLimits& limits);

}  // namespace intarsia
