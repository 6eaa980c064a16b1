// Schedules of an attention in one kernel: the scores of some rows of queries by all keys stay in a small
// buffer from the first product through the softmax to the second one.
#pragma once

#include <string>
#include <vector>

#include "backends/halide/fuse/match_attention.h"
#include "backends/halide/schedule/contraction_tile.h"

namespace intarsia::halide {

struct AttentionSizes {
  int64_t batch = 1, rows = 1, keys = 1;
  int64_t depth = 1;     // elements of a query and of a key
  int64_t channels = 1;  // elements of a value
};
AttentionSizes attention_sizes(const Graph& graph, const AttentionNodes& nodes);

/// Schedule of an attention: both register tiles, and the number of rows of scores that the buffer holds.
struct AttentionSchedule {
  ContractionTile scores, product;  // panels of keys, of channels
  int64_t rows = 1;
  bool on_amx = false;  // factors are rounded to bf16, and sums are in tile registers
  bool operator==(const AttentionSchedule&) const = default;
};

std::string print_schedule(const AttentionSchedule& schedule);

/// Returns up to `most` schedules, the best first by an estimate of cycles, and, first of all, one on tile
/// registers if factors may be rounded to bf16 and the sizes suit them.
std::vector<AttentionSchedule> attention_schedules(const AttentionSizes& sizes, const Isa& isa, size_t most,
                                                   bool rounds_to_bf16);

}  // namespace intarsia::halide
