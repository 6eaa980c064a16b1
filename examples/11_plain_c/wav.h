/* Sounds in files: RIFF, PCM of 16 bits, one channel, 16,000 samples a second. */
#pragma once

#include <stdint.h>

enum { SAMPLE_RATE = 16000 };

/* Reads the first second of a file; silence follows a shorter sound. Returns 0 after a line on standard error
   if the file has no such sound. */
int read_wav(const char* path, int16_t samples[SAMPLE_RATE]);
