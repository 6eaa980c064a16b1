// Schedule of a contraction: the algorithm and its register tile. A kernel carries its schedule, so that the
// packing of the weights and the code agree.
#pragma once

#include <string>

#include "backends/halide/schedule/contraction_tile.h"
#include "graph/graph.h"

namespace intarsia::halide {

struct ContractionSchedule {
  enum class Algorithm : uint8_t {
    direct,
    depthwise,           // filter per channel; the input copied with its padding, some rows at a time
    depthwise_in_place,  // filter per channel; separate loops at the edges of the input
    winograd_2x2,        // F(2x2, 3x3): less than half the arithmetic, 1.8 times the weights
    winograd_4x4,        // F(4x4, 3x3): a quarter of the arithmetic, four times the weights
  };
  Algorithm algorithm = Algorithm::direct;
  ContractionTile tile;
  bool threads_share_rows =
      true;  // threads take blocks of rows; false (not depthwise): they take panels of all rows
  /// bf16: both factors of f32 are rounded, for dot products; f16: constant weights of f32 are, and widened
  /// where they are read, since they then take half of the memory's time.
  DType rounds_to = DType::f32;
  bool on_amx = false;  // sums are in tile registers (AMX) of up to 16 pixels by 16 channels

  bool rounds() const { return rounds_to != DType::f32; }
  bool rounds_to_bf16() const { return rounds_to == DType::bf16; }
  bool operator==(const ContractionSchedule&) const = default;
};

/// Returns the number of dot products along the depth that belong together: zeros fill up the depth.
int64_t depth_steps(const ContractionSchedule& schedule);

std::string print_schedule(const ContractionSchedule& schedule);

/// Sizes of a contraction, whatever its operator.
struct ContractionSizes {
  int64_t batch = 1, group = 1;
  int64_t channels = 1;  // outputs of a group
  int64_t depth = 1;     // inputs of a group
  Shape pixels, kernel;  // kernel: taps per axis; empty for a matrix product
};

/// Returns the sizes of node `anchor` of `body`, whose weights are not packed yet.
ContractionSizes contraction_sizes(const Graph& body, const Node& anchor);

/// Returns Isa::neighbors_at_once() if a contraction multiplies so; else 0: half as many channels or fewer
/// would be multiplied with more zeros than numbers.
int64_t neighbors_at_once(const Isa& isa, DType input, const ContractionSizes& sizes, bool constant_weights);

/// Checks whether this contraction can be computed by Winograd's algorithm.
bool allows_winograd(const Graph& body, const Node& anchor);

struct ScheduleSpace {
  bool constant_weights = false;  // weights are known at compile time and can be packed or transformed
  bool exact_math = false;        // direct arithmetic only
  DType rounds_to = DType::f32;   // type that factors of f32 may be rounded to
  bool prefers_size = false;      // weights in fewer bits, also where they are not faster
  bool has_open_pixels = false;   // code is for an open number of pixels, and chosen for a typical one
  bool has_open_matrix = false;   // code is for a second matrix of open sizes
  size_t max_tiles = 1;           // limit for each algorithm
  int threads = 1;
};

/// Returns schedules, the analytic choice first: fewest cycles by a model of arithmetic and of weights that
/// come from memory.
std::vector<ContractionSchedule> contraction_schedules(const Graph& body, const Node& anchor, const Isa& isa,
                                                       const ScheduleSpace& space);

}  // namespace intarsia::halide
