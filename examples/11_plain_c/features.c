/* Frames of 40 ms, every 20 ms -> power spectrum -> 40 bands of the mel scale -> logarithms -> cosine
   transform. Source of the sizes: Y. Zhang, N. Suda, L. Lai, V. Chandra, "Hello Edge: Keyword Spotting on
   Microcontrollers", 2017. Source of the coefficients: S. Davis, P. Mermelstein, "Comparison of Parametric
   Representations for Monosyllabic Word Recognition in Continuously Spoken Sentences", 1980.

   Cosines are computed where they are needed: tables of them would be faster, and take 4 KB more. */
#include "features.h"

#include <math.h>
#include <string.h>

enum { FFT_SIZE = 1024, BANDS = 40 };
static const float pi = 3.14159265f, sample_rate = 16000.0f, lowest_hertz = 20.0f, highest_hertz = 4000.0f;

static void swap(float* a, float* b) {
  const float kept = *a;
  *a = *b;
  *b = kept;
}

/* Moves each element to the index with the bits of its own in reverse order. */
static void reverse_bits(float* re, float* im) {
  for (int i = 1, reversed = 0; i < FFT_SIZE; ++i) {
    int bit = FFT_SIZE / 2;
    for (; reversed & bit; bit /= 2) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) swap(&re[i], &re[reversed]), swap(&im[i], &im[reversed]);
  }
}

/* Computes the discrete Fourier transform in place. Source: J. Cooley, J. Tukey, "An Algorithm for the
   Machine Calculation of Complex Fourier Series", 1965; in the form of T. Cormen et al., "Introduction to
   Algorithms", ITERATIVE-FFT. */
static void transform(float* re, float* im) {
  reverse_bits(re, im);
  for (int half = 1; half < FFT_SIZE; half *= 2) {
    const float step_re = cosf(pi / (float)half), step_im = -sinf(pi / (float)half);
    float w_re = 1.0f, w_im = 0.0f;
    for (int k = 0; k < half; ++k) {
      for (int i = k, j = k + half; i < FFT_SIZE; i += 2 * half, j += 2 * half) {
        const float x = re[j] * w_re - im[j] * w_im, y = re[j] * w_im + im[j] * w_re;
        re[j] = re[i] - x, im[j] = im[i] - y;
        re[i] += x, im[i] += y;
      }
      const float next = w_re * step_re - w_im * step_im;
      w_im = w_re * step_im + w_im * step_re;
      w_re = next;
    }
  }
}

/* power: of the frequencies 0, SAMPLE_RATE / FFT_SIZE, ... The window is Hann's: F. Harris, "On the Use of
   Windows for Harmonic Analysis with the Discrete Fourier Transform", 1978. */
static void compute_power(const int16_t* samples, float power[FFT_SIZE / 2]) {
  static float re[FFT_SIZE], im[FFT_SIZE];
  memset(re, 0, sizeof re);
  memset(im, 0, sizeof im);
  for (int i = 0; i < FRAME_SIZE; ++i)
    re[i] = (float)samples[i] / 32768.0f * (0.5f - 0.5f * cosf(2.0f * pi * (float)i / FRAME_SIZE));
  transform(re, im);
  for (int i = 0; i < FFT_SIZE / 2; ++i) power[i] = re[i] * re[i] + im[i] * im[i];
}

/* Source of the scale: D. O'Shaughnessy, "Speech Communication: Human and Machine", 1987. */
static float mel_of(float hertz) { return 1127.0f * logf(1.0f + hertz / 700.0f); }
static float hertz_of(float mel) { return 700.0f * (expf(mel / 1127.0f) - 1.0f); }

/* The edges of the bands have equal distances on the mel scale. */
static float edge(int number) {
  const float low = mel_of(lowest_hertz), high = mel_of(highest_hertz);
  return hertz_of(low + (high - low) * (float)number / (BANDS + 1));
}

/* The power in a triangle that rises from the edge before the band's center to it, and falls to the edge
 * after it. */
static float power_in_band(const float power[FFT_SIZE / 2], int band) {
  const float first = edge(band), center = edge(band + 1), last = edge(band + 2),
              step = sample_rate / FFT_SIZE;
  float sum = 0.0f;
  for (int i = (int)(first / step) + 1; (float)i * step < last; ++i) {
    const float hertz = (float)i * step;
    sum += power[i] * fminf((hertz - first) / (center - first), (last - hertz) / (last - center));
  }
  return sum;
}

/* The last step is the discrete cosine transform (DCT-II): N. Ahmed, T. Natarajan, K. Rao, "Discrete Cosine
   Transform", 1974. */
static void compute_frame(const int16_t* samples, float coefficients[COEFFICIENTS]) {
  static float power[FFT_SIZE / 2];
  compute_power(samples, power);
  memset(coefficients, 0, COEFFICIENTS * sizeof *coefficients);
  for (int band = 0; band < BANDS; ++band) {
    const float loudness = logf(power_in_band(power, band) + 1e-6f); /* finite in silence */
    for (int i = 0; i < COEFFICIENTS; ++i)
      coefficients[i] += sqrtf(2.0f / BANDS) * loudness * cosf(pi / BANDS * ((float)band + 0.5f) * (float)i);
  }
}

void compute_features(const int16_t* samples, float features[FRAMES][COEFFICIENTS]) {
  for (int frame = 0; frame < FRAMES; ++frame) compute_frame(samples + frame * FRAME_STEP, features[frame]);
}
