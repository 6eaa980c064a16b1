// Recurrent operators. A core LSTM, GRU or RNN has
//   x       [steps, batch, units * gates]   from the input to the gates, as [block][gate][lane]
//   before  [states, batch, units]          the state before the first step: h, for an LSTM then c
//   weights [blocks, hidden, gates, lanes]  from h to the gates; build_recurrence.cc has the constants
//                                           that follow
//   mask    [steps, batch]                  last, if it is masked: whether a row has the step, or keeps its
//   state
// and as output the state after every step, [steps, states, batch, units], in the order of time even if it
// runs backward. Units are what the operator calls hidden, rounded up to whole blocks of lanes; those added
// stay zero. Steps and batch may be open.
#pragma once

#include <vector>

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Inputs that all recurrent operators have.
enum RecurrentInput : size_t { recurrent_x, recurrent_before, recurrent_weights };

struct RecurrenceSizes {
  Dim batch = 1;
  int64_t states = 1;
  int64_t hidden = 1;             // units that the weights read
  int64_t blocks = 1, lanes = 1;  // blocks and lanes of units
  int64_t gates = 1;              // gates in x
  int64_t gates_together = 1;     // gates whose sums are computed side by side
};

/// Returns the sizes of the node of a kernel's body: one step, without a time axis.
RecurrenceSizes recurrence_sizes(const Graph& body, const Node& step);

/// Returns register tiles of `pixels` rows of the batch by `panel` units of all gates; the analytic choice
/// first.
std::vector<ContractionTile> recurrence_tiles(const Graph& body, const Node& step, const Isa& isa,
                                              size_t most);

/// Register tile, and an estimate of the time that all units of its rows take.
struct RowsTile {
  ContractionTile tile;
  double cycles = 0;
};
/// Returns the tiles of 1, 2, ... rows for an open batch: `chosen` where it has that many, else the analytic
/// choice.
std::vector<RowsTile> tiles_by_rows(const RecurrenceSizes& sizes, const Isa& isa,
                                    const ContractionTile& chosen);

/// Makes a call for the first step, from `before`, and one for all others, from the state that the step
/// before wrote. Where the number of steps is open, they run min(T, 1) and max(T-1, 0) times.
///   %s = LSTM(%x, %h0, %w)   =>   step(x[0], h0, w) -> s[0]
///                                 T-1 times: step(x[t], s[t-1], w) -> s[t]
std::vector<Call> make_recurrence(const Layouts& layouts, const Node& node, int threads);

}  // namespace intarsia::halide
