// What the time of a run is spent on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session.h"

namespace intarsia {

struct ProfiledNode {
  std::string name, op;
};

/// A kernel of a run, an operator of a framework, a region that tells nothing of its parts, or a copy.
struct ProfileEntry {
  enum class Kind : uint8_t { kernel, op, region, copy };
  Kind kind = Kind::kernel;
  std::string name;                 // "conv1: Conv Relu"
  std::string target;               // "halide@cpu"; of a copy its device
  int region = -1;                  // its number; -1: a copy
  int64_t nanoseconds = 0;          // of a run
  std::vector<ProfiledNode> nodes;  // of the model
  DType dtype = DType::undefined;   // of its output
  std::optional<Shape> shape;       // of its output
  Shape weights;                    // shape of a contraction's; empty: it has none, or not known
  uint64_t operations = 0;  // of its products, a multiply and an add counted as two; 0: none, or not known
  uint64_t bytes = 0;       // read and written, each once; 0: not known
  std::string algorithm;    // "winograd 4x4, tile 6x32"; empty: not known
};

struct Profile {
  size_t runs = 0;                    // that were traced
  int64_t run_nanoseconds = 0;        // of a whole run
  std::vector<ProfileEntry> entries;  // the longest first
};

/// Runs a function (empty: the only one) several times and averages over the faster half of the runs: so the
/// times of entries add up to at most the run's where nothing runs at the same time. `runs` 0: as many as fit
/// into a second, 5 to 200. Regions of frameworks then run apart for their own profiles, and their operators
/// share the region's time if they come to more.
Result<Profile> profile_session(Session& session, std::string_view function,
                                std::span<const NamedTensor> inputs, size_t runs);

}  // namespace intarsia
