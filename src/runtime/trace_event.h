// What a run did, and when.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace intarsia {

/// What a run did, when, and on which device; `kind` is "region", "copy" or "kernel" (within a region). The
/// texts are valid during the call. Where devices overlap it is called from several threads at once.
struct TraceEvent {
  std::string_view name, kind, device;
  int64_t begin_ns, end_ns;  // of a steady clock
  int region = -1;           // its number, of kinds "region" and "kernel"
};
using TraceCallback = std::function<void(const TraceEvent&)>;

}  // namespace intarsia
