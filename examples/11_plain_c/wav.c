/* Source of the format: Microsoft and IBM, "Multimedia Programming Interface and Data Specifications 1.0",
   1991, "Waveform Audio File Format". */
#include "wav.h"

#include <stdio.h>
#include <string.h>

static unsigned u16(const uint8_t* at) { return at[0] | (unsigned)at[1] << 8; }
static unsigned u32(const uint8_t* at) { return u16(at) | u16(at + 2) << 16; }

static const char* check_format(const uint8_t* format) {
  static char error[160];
  const unsigned kind = u16(format), channels = u16(format + 2), rate = u32(format + 4),
                 bits = u16(format + 14);
  if (kind == 1 && channels == 1 && rate == SAMPLE_RATE && bits == 16) return NULL;
  snprintf(error, sizeof error,
           "want PCM (1) of 1 channel, %d samples a second, 16 bits: got format %u, %u channels, %u, %u; "
           "convert it",
           SAMPLE_RATE, kind, channels, rate, bits);
  return error;
}

static const char* read_samples(FILE* file, uint32_t bytes, int16_t* samples) {
  memset(samples, 0, SAMPLE_RATE * sizeof *samples);
  for (uint32_t i = 0; i < SAMPLE_RATE && i < bytes / 2; ++i) {
    uint8_t sample[2];
    if (fread(sample, 1, 2, file) != 2) return "it ends within its samples: copy it again";
    samples[i] = (int16_t)u16(sample);
  }
  return NULL;
}

/* A file is a header and chunks: four letters, a size, as many bytes, and one more after an odd size. */
static const char* read_chunks(FILE* file, int16_t* samples) {
  uint8_t head[12], format[16];
  if (fread(head, 1, 12, file) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0)
    return "it is not a WAV file";
  for (int has_format = 0; fread(head, 1, 8, file) == 8;) {
    uint32_t bytes = u32(head + 4);
    if (memcmp(head, "data", 4) == 0)
      return has_format ? read_samples(file, bytes, samples) : "its format does not come before its samples";
    if (memcmp(head, "fmt ", 4) == 0 && bytes >= sizeof format) {
      if (fread(format, 1, sizeof format, file) != sizeof format)
        return "it ends within its format: copy it again";
      const char* const error = check_format(format);
      if (error != NULL) return error;
      has_format = 1;
      bytes -= sizeof format;
    }
    if (bytes > INT32_MAX || fseek(file, (long)(bytes + bytes % 2), SEEK_CUR) != 0) break;
  }
  return "it has no samples: copy it again";
}

int read_wav(const char* path, int16_t samples[SAMPLE_RATE]) {
  FILE* const file = fopen(path, "rb");
  const char* const error = file == NULL ? "it cannot be opened" : read_chunks(file, samples);
  if (file != NULL) fclose(file);
  if (error != NULL) fprintf(stderr, "error: sound '%s': %s\n", path, error);
  return error == NULL;
}
