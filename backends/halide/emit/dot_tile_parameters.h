/* Parameters of the functions that compute a register tile of dot products, on all processors. */
#ifndef INTARSIA_DOT_TILE_PARAMETERS_H
#define INTARSIA_DOT_TILE_PARAMETERS_H

#include <stdint.h>

/* Each buffer has a first element and the distance of two pixels in elements; weights have none. A reduction
   of three loops, the innermost first, has numbers of iterations, and their distances in the input and in
   weights.
 */
#define PARAMETERS                                                                                        \
  const uint8_t *input, int64_t input_first, int64_t pixel, const int8_t *weights, int64_t weights_first, \
      int64_t no_pixel, int32_t *sums, int64_t sums_first, int64_t sums_of_pixel, int64_t steps,          \
      int64_t input_step, int64_t weights_step, int64_t taps, int64_t input_tap, int64_t weights_tap,     \
      int64_t rows, int64_t input_row, int64_t weights_row
#define ARGUMENTS                                                                                      \
  input, input_first, pixel, weights, weights_first, no_pixel, sums, sums_first, sums_of_pixel, steps, \
      input_step, weights_step, taps, input_tap, weights_tap, rows, input_row, weights_row

#endif
