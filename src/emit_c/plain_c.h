/* What steps of all programs in plain C use. */
#ifndef INTARSIA_PLAIN_C_H
#define INTARSIA_PLAIN_C_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t intarsia_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t intarsia_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t intarsia_larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Returns the CRC-32 of IEEE 802.3. */
static inline uint32_t intarsia_crc32(const uint8_t* bytes, size_t count) {
  static const uint32_t of_nibbles[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t sum = 0xffffffff;
  for (size_t i = 0; i < count; ++i) {
    sum ^= bytes[i];
    sum = sum >> 4 ^ of_nibbles[sum & 15];
    sum = sum >> 4 ^ of_nibbles[sum & 15];
  }
  return ~sum;
}

#endif
