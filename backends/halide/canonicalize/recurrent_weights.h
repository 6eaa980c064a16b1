// Constants of a recurrent layer in the order in which its kernels read them (recurrence.h).
#pragma once

#include <span>

#include "base/dim.h"
#include "base/tensor_view.h"

namespace intarsia::halide {

/// Sizes of a source LSTM, GRU or RNN.
struct RecurrentLayer {
  int64_t gates = 1, states = 1, directions = 1;
  Dim steps = 0, batch = 0;
  int64_t depth = 0, hidden = 0;
  int64_t lanes = 1, blocks = 1;  // lanes and blocks of units
  bool batch_first = false;       // attribute layout is 1
  /// Whether the reset gate of a GRU acts on h itself: the gate is needed before the sums of the hidden gate
  /// start.
  bool resets_before = false;

  int64_t units() const { return blocks * lanes; }
  int64_t columns() const { return gates * units(); }  // columns of a direction in x
  /// Checks for a GRU that resets after the sums: what R adds to its hidden gate, the bias included, is
  /// multiplied.
  bool keeps_recurrent_bias() const { return gates == 3 && !resets_before; }
  /// Returns the number of gates whose sums are computed side by side; the reset gate, which is computed
  /// before them, comes after them in x.
  int64_t gates_together() const { return resets_before ? 2 : gates; }
};

/// Turns W [directions, gates * hidden, depth] into [depth, columns of all directions].
Tensor arrange_input_weights(const RecurrentLayer& layer, std::span<const float> w);

/// Returns what B [directions, 2 * gates * hidden] adds to x, in its columns.
Tensor arrange_input_bias(const RecurrentLayer& layer, std::span<const float> b);

/// Returns what B adds to the hidden gate within the product by the reset gate, [units]; zeros for no B.
Tensor arrange_recurrent_bias(const RecurrentLayer& layer, std::span<const float> b, int64_t direction);

/// Turns R [directions, gates * hidden, hidden] of the gates at `count` places of x from `first` on into
/// [blocks, hidden, count, lanes].
Tensor arrange_recurrent_weights(const RecurrentLayer& layer, std::span<const float> r, int64_t direction,
                                 int64_t first, int64_t count);

/// Returns the initial state [states, batch, units] of one direction from the source's h and c, each empty
/// for zeros; the batch is a number.
Tensor arrange_state(const RecurrentLayer& layer, std::span<const float> h, std::span<const float> c,
                     int64_t direction);

}  // namespace intarsia::halide
