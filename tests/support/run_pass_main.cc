// Runs one pass on a text file and prints its result:
//
//   build/bin/run_pass PASS FILE
//
// FILE is a case of tests/cases, or a graph in the text form alone; "-" stands for the standard input. The
// section `given` says what a pass gets besides the graph (tests/support/run_pass.cc). Exit status: 0 done, 1
// the pass or the file has an error, 2 wrong usage.
#include <fmt/ranges.h>

#include <cstdio>

#include "tests/support/run_pass.h"

namespace {

int run(const std::string& pass, const std::string& path) {
  using namespace intarsia;
  CaseFile file = read_case(path == "-" ? "/dev/stdin" : path);
  if (file.sections.empty()) file.sections["input"] = file.comment;
  file.path = std::filesystem::path(pass) / "given.case";
  const Result<std::string> text = run_pass(file);
  if (!text) return fmt::print(stderr, "error: {}\n", text.error().message), 1;
  fmt::print("{}", *text);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3) return run(words[1], words[2]);
  fmt::print(stderr, "usage: run_pass PASS FILE\nPASS is one of {}\n",
             fmt::join(intarsia::passes_to_run(), ", "));
  return 2;
}
