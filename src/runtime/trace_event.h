// Trace events, which tell what a run did, and when.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace intarsia {

/// Piece of work that a run did on a device; `kind` is "region", "copy", "kernel" (within a region) or
/// "bodies" (a branch or loop, within which regions run). The texts are valid during the callback, which
/// comes from several threads at once where devices overlap.
struct TraceEvent {
  std::string_view name, kind, device;
  int64_t begin_ns, end_ns;  // times of a steady clock
  int region = -1;           // number of the region, for all kinds but "copy"
};
using TraceCallback = std::function<void(const TraceEvent&)>;

}  // namespace intarsia
