// Runs the function addone of a program on 1, 7 and a million numbers.
#include <cstdio>
#include <intarsia/intarsia.hpp>
#include <vector>

int main(int, char** arguments) {
  try {
    const auto program = intarsia::Program::load(arguments[1]);
    for (const size_t size : {size_t{1}, size_t{7}, size_t{1'000'000}}) {
      const auto count = static_cast<int64_t>(size);
      std::vector<float> a(size, 41), b(size);
      program.run({{"a", {a.data(), {count}}}}, {{"b", {b.data(), {count}}}}, "addone");
      std::printf("C++: addone of %zu numbers: %g ... %g\n", size, b.front(), b.back());
      if (b.front() != 42 || b.back() != 42) return 1;
    }
    return 0;
  } catch (const intarsia::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
