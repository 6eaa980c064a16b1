/* What a network hears: for each of 49 frames of a second of sound, ten mel-frequency cepstral coefficients.
 */
#pragma once

#include <stdint.h>

enum { FRAME_SIZE = 640, FRAME_STEP = 320, FRAMES = 49, COEFFICIENTS = 10 };

/* samples: a second of sound, FRAME_SIZE + (FRAMES - 1) * FRAME_STEP numbers. Two calls may not run at the
 * same time. */
void compute_features(const int16_t* samples, float features[FRAMES][COEFFICIENTS]);
