/* Sums of a register tile that kernels for AArch64 call for where Halide cannot generate the instruction:
   sdot, which multiplies four numbers of 8 bits, both signed, while kernels have u8 by i8. One function for
   each number of pixels and of vectors of channels.
 */
#include <arm_neon.h>

#include "backends/halide/emit/dot_tile_parameters.h"

enum { lanes = 4, steps_of_vector = 4, most_pixels = 14, most_vectors = 6 };

#define INLINE static inline __attribute__((always_inline))

/* Sums of a tile, and of the weights of each channel: x - 128 is signed, and x w = (x - 128) w + 128 w. */
struct tile {
  int32x4_t sums[most_pixels][most_vectors], weights[most_vectors];
};

INLINE int8x16_t make_signed(uint8x16_t x) { return vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(128))); }

/* Adds the products of a step, whose input each pixel has in a lane of a vector. */
#define ADD_STEP(LANE)                                                           \
  _Pragma("GCC unroll 8") for (int v = 0; v < vectors; ++v) {                    \
    const int8x16_t w = vld1q_s8(weight + 16 * v);                               \
    tile->weights[v] = vdotq_s32(tile->weights[v], w, vdupq_n_s8(1));            \
    _Pragma("GCC unroll 16") for (int p = 0; p < pixels; ++p) tile->sums[p][v] = \
        vdotq_laneq_s32(tile->sums[p][v], w, x[p], LANE);                        \
  }                                                                              \
  weight += weights_step

/* Adds the products of the steps along the depth at one tap. */
INLINE void add_depth(struct tile* tile, int pixels, int vectors, const uint8_t* input, int64_t pixel,
                      int64_t input_step, const int8_t* weight, int64_t weights_step, int64_t steps) {
  int8x16_t x[most_pixels];
  int64_t step = 0;
  if (input_step == lanes)
    for (; step + steps_of_vector <= steps; step += steps_of_vector, input += 16) {
#pragma GCC unroll 16
      for (int p = 0; p < pixels; ++p) x[p] = make_signed(vld1q_u8(input + p * pixel));
      ADD_STEP(0);
      ADD_STEP(1);
      ADD_STEP(2);
      ADD_STEP(3);
    }
  for (; step < steps; ++step, input += input_step) {
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p) {
      uint32_t four;
      __builtin_memcpy(&four, input + p * pixel, sizeof four);
      x[p] = make_signed(vreinterpretq_u8_u32(vdupq_n_u32(four)));
    }
    ADD_STEP(0);
  }
}

/* Adds to sums of a tile the products of u8 of the input and i8 of weights. */
INLINE void add_products(int pixels, int vectors, PARAMETERS) {
  (void)no_pixel;
  input += input_first;
  weights += weights_first;
  sums += sums_first;
  struct tile tile;
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) tile.weights[v] = vdupq_n_s32(0);
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) tile.sums[p][v] = vld1q_s32(sums + p * sums_of_pixel + v * lanes);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t tap = 0; tap < taps; ++tap)
      add_depth(&tile, pixels, vectors, input + row * input_row + tap * input_tap, pixel, input_step,
                weights + row * weights_row + tap * weights_tap, weights_step, steps);
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      vst1q_s32(sums + p * sums_of_pixel + v * lanes,
                vaddq_s32(tile.sums[p][v], vshlq_n_s32(tile.weights[v], 7)));
}

#define TILE(PIXELS, VECTORS)                                  \
  void intarsia_dot_tile_128_##PIXELS##x##VECTORS(PARAMETERS); \
  void intarsia_dot_tile_128_##PIXELS##x##VECTORS(PARAMETERS) { add_products(PIXELS, VECTORS, ARGUMENTS); }

/* Tiles whose sums fit in registers beside weights and a vector of each pixel (contraction_tile.cc). */
/* clang-format off */
#define UP_TO_2(V) TILE(1, V) TILE(2, V)
#define UP_TO_4(V) UP_TO_2(V) TILE(3, V) TILE(4, V)
#define UP_TO_6(V) UP_TO_4(V) TILE(5, V) TILE(6, V)
#define UP_TO_8(V) UP_TO_6(V) TILE(7, V) TILE(8, V)

UP_TO_8(1) TILE(9, 1) TILE(10, 1) TILE(11, 1) TILE(12, 1) TILE(13, 1) TILE(14, 1)
UP_TO_8(2)
UP_TO_6(3)
UP_TO_4(4)
UP_TO_2(5) TILE(3, 5)
UP_TO_2(6)
    /* clang-format on */
