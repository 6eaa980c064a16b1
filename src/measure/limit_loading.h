// How long the loading of programs may take: a framework compiles its regions then, and cannot be stopped.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

struct LoadingLimits {
  int threads = 1;                      // of a run
  double cpu_seconds = 10;              // for each program, however small
  double cpu_seconds_of_gigabyte = 20;  // and for each gigabyte of its file
  std::function<bool()> may_go_on;      // asked several times a second; empty: always
};

/// The error of what is not loaded for that reason: the next compile may.
tl::unexpected<Error> no_time_left();

/// Loads and binds each program in a process of its own (intarsia-load), all at the same time, and says of
/// which ones this process should do it, too. Errors: timed_out: it takes longer than it may, by the CPU time
/// of its process; cancelled: there is no time left; unknown: loading ended its process; not_found or io: no
/// process can be started. What cannot be loaded for another reason is no error here: it fails soon in this
/// process, too, which says more.
std::vector<Status> limit_loading(const std::vector<std::string>& programs, const LoadingLimits& limits);

}  // namespace intarsia
