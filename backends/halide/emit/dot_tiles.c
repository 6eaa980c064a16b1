/* Sums of a register tile that kernels call for where Halide cannot generate the instruction (vpdpbusd): it
   has the instruction only for processors that have bf16, too. One function for each number of pixels and of
   vectors of channels. Compiled once for vectors of 32 bytes (AVX-VNNI) and once for 64 (AVX-512 VNNI);
   linked into programs that call it, with hidden symbols.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "backends/halide/emit/dot_tile_parameters.h"

#if VECTOR_BYTES == 64
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define NAME(PIXELS, VECTORS) intarsia_dot_tile_512_##PIXELS##x##VECTORS
typedef __m512i Vector;
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, x) _mm512_storeu_si512(p, x)
#define BROADCAST(x) _mm512_set1_epi32(x)
#define ADD_PRODUCTS(sums, a, b) _mm512_dpbusd_epi32(sums, a, b)
#else
#define TARGET __attribute__((target("avx2,avxvnni")))
#define NAME(PIXELS, VECTORS) intarsia_dot_tile_256_##PIXELS##x##VECTORS
typedef __m256i Vector;
#define LOAD(p) _mm256_loadu_si256((const __m256i*)(p))
#define STORE(p, x) _mm256_storeu_si256((__m256i*)(p), x)
#define BROADCAST(x) _mm256_set1_epi32(x)
#define ADD_PRODUCTS(sums, a, b) _mm256_dpbusd_avx_epi32(sums, a, b)
#endif

enum { lanes = VECTOR_BYTES / 4, pixels_of_pointer = 3, most_pixels = 29, most_vectors = 6 };

/* Reads four neighbors of the input, which need no alignment. */
static inline __attribute__((always_inline)) int32_t read_four(const uint8_t* from) {
  int32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return four;
}

/* Adds to sums of a tile the products of u8 of the input and i8 of weights. */
TARGET static inline __attribute__((always_inline)) void add_products(int pixels, int vectors, PARAMETERS) {
  (void)no_pixel;
  input += input_first;
  weights += weights_first;
  sums += sums_first;
  Vector acc[most_pixels][most_vectors];
#pragma GCC unroll 32
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) acc[p][v] = LOAD(sums + p * sums_of_pixel + v * lanes);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t tap = 0; tap < taps; ++tap) {
      const uint8_t* at[most_pixels / pixels_of_pointer + 1];
      const int8_t* weight = weights + row * weights_row + tap * weights_tap;
#pragma GCC unroll 32
      for (int p = 0; p < pixels; p += pixels_of_pointer)
        at[p / pixels_of_pointer] = input + row * input_row + tap * input_tap + p * pixel;
      for (int64_t step = 0; step < steps; ++step) {
        Vector b[most_vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) b[v] = LOAD(weight + v * VECTOR_BYTES);
        weight += weights_step;
#pragma GCC unroll 32
        for (int p = 0; p < pixels; ++p) {
          const Vector a = BROADCAST(read_four(at[p / pixels_of_pointer] + p % pixels_of_pointer * pixel));
#pragma GCC unroll 8
          for (int v = 0; v < vectors; ++v) acc[p][v] = ADD_PRODUCTS(acc[p][v], a, b[v]);
        }
#pragma GCC unroll 32
        for (int p = 0; p < pixels; p += pixels_of_pointer) at[p / pixels_of_pointer] += input_step;
      }
    }
#pragma GCC unroll 32
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) STORE(sums + p * sums_of_pixel + v * lanes, acc[p][v]);
}

#define TILE(PIXELS, VECTORS)                    \
  TARGET void NAME(PIXELS, VECTORS)(PARAMETERS); \
  TARGET void NAME(PIXELS, VECTORS)(PARAMETERS) { add_products(PIXELS, VECTORS, ARGUMENTS); }

/* Tiles whose sums fit in registers beside weights and a pixel (contraction_tile.cc). */
/* clang-format off */
#define UP_TO_3(V) TILE(1, V) TILE(2, V) TILE(3, V)
#define FROM_4_TO_6(V) TILE(4, V) TILE(5, V) TILE(6, V)
#define FROM_7_TO_13(V) TILE(7, V) TILE(8, V) TILE(9, V) TILE(10, V) TILE(11, V) TILE(12, V) TILE(13, V)

UP_TO_3(1) FROM_4_TO_6(1) FROM_7_TO_13(1)
UP_TO_3(2) FROM_4_TO_6(2)
UP_TO_3(3)
TILE(1, 4) TILE(2, 4)
TILE(1, 5)
TILE(1, 6)
#if VECTOR_BYTES == 64
#define FROM_14_TO_21(V) TILE(14, V) TILE(15, V) TILE(16, V) TILE(17, V) TILE(18, V) TILE(19, V) TILE(20, V) TILE(21, V)
#define FROM_22_TO_29(V) TILE(22, V) TILE(23, V) TILE(24, V) TILE(25, V) TILE(26, V) TILE(27, V) TILE(28, V) TILE(29, V)

FROM_14_TO_21(1) FROM_22_TO_29(1)
FROM_7_TO_13(2) TILE(14, 2)
FROM_4_TO_6(3) TILE(7, 3) TILE(8, 3) TILE(9, 3)
TILE(3, 4) FROM_4_TO_6(4)
TILE(2, 5) TILE(3, 5) TILE(4, 5) TILE(5, 5)
TILE(2, 6) TILE(3, 6) TILE(4, 6)
#endif
/* clang-format on */
#endif
