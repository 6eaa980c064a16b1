/* Prints the word in a WAV file, and how sure the network is of it. */
#include <stdio.h>

#include "features.h"
#include "net.h"
#include "wav.h"
#include "words.h"

static _Alignas(NET_ARENA_ALIGNMENT) unsigned char arena[NET_ARENA_BYTES];
static int16_t samples[SAMPLE_RATE];
static float features[FRAMES][COEFFICIENTS], scores[WORD_COUNT];

int main(int argc, char** argv) {
  const struct net_inputs inputs = {.features = &features[0][0]};
  struct net_outputs outputs = {.scores = scores};
  if (argc != 2 || !read_wav(argv[1], samples)) return 1;
  compute_features(samples, features);
  if (net_run(&inputs, &outputs, arena) != NET_OK) return 1;
  int best = 0;
  for (int i = 1; i < WORD_COUNT; ++i) best = scores[i] > scores[best] ? i : best;
  printf("%s %.2f\n", words[best], (double)scores[best]);
  return 0;
}
