// Profiles, which show where the time of a run goes.
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

/// Kernel of a run, operator of a framework, region that reports none of its parts, or copy.
struct ProfileEntry {
  enum class Kind : uint8_t { kernel, op, region, copy };
  Kind kind = Kind::kernel;
  std::string name;                 // "conv1: Conv Relu"
  std::string target;               // "halide@cpu"; for a copy its device
  int region = -1;                  // number of the region; -1: a copy
  int64_t nanoseconds = 0;          // time within a run
  std::vector<ProfiledNode> nodes;  // nodes of the model
  DType dtype = DType::undefined;   // dtype of its output
  std::optional<Shape> shape;       // shape of its output
  Shape weights;                    // shape of a contraction's weights; empty: none, or unknown
  uint64_t operations = 0;          // multiplies and adds of its products; 0: none, or unknown
  uint64_t bytes = 0;               // bytes read and written, each once; 0: unknown
  std::string algorithm;            // "winograd 4x4, tile 6x32"; empty: unknown
};

struct Profile {
  size_t runs = 0;                    // number of traced runs
  int64_t run_nanoseconds = 0;        // time of a whole run
  std::vector<ProfileEntry> entries;  // longest first
};

/// Runs a function (empty: the only one) several times and averages over the faster half of the runs, so that
/// the times of entries add up to at most the run's where nothing runs at the same time. `runs` 0: as many as
/// fit into a second, 5 to 200. Regions of frameworks then run separately for their own profiles, and their
/// operators share the region's time if they add up to more.
Result<Profile> profile_session(Session& session, std::string_view function,
                                std::span<const NamedTensor> inputs, size_t runs);

}  // namespace intarsia
