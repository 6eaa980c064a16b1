// Loads a program and runs it on the caller's buffers: nothing is copied, nothing is allocated after the
// first run.
#include <algorithm>
#include <cstdio>
#include <intarsia/intarsia.hpp>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    auto program = intarsia::Program::load(argv[1]);
    auto session = program.bind();
    std::vector<float> image(2 * 3 * 32 * 32, 0.5f), scores(2 * 10);
    session.run({{"image", {image.data(), {2, 3, 32, 32}}}}, {{"scores", {scores.data(), {2, 10}}}});
    const auto best = std::max_element(scores.begin(), scores.begin() + 10) - scores.begin();
    std::printf("class %d with score %g\n", static_cast<int>(best), scores[static_cast<size_t>(best)]);
  } catch (const intarsia::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
