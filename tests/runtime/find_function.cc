// Functions are found by name; a program's only function needs none.
//
// Covers: src/runtime/ find_function.cc
#include "runtime/find_function.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

TEST(FindFunction, ByNameOrTheOnlyOne) {
  fbs::ProgramT program;
  program.functions.push_back(std::make_unique<fbs::FunctionT>());
  program.functions[0]->name = "encode";
  EXPECT_EQ(find_function(program, "").value(), 0u);
  program.functions.push_back(std::make_unique<fbs::FunctionT>());
  program.functions[1]->name = "decode";
  EXPECT_EQ(find_function(program, "decode").value(), 1u);
  EXPECT_EQ(find_function(program, "").error().message,
            "name one of the program's functions: encode, decode");
  EXPECT_EQ(find_function(program, "code").error().message,
            "no function 'code'; the program has: encode, decode");
}

TEST(FindFunction, OfWhatIsBound) {
  fbs::FunctionT function;
  function.name = "main";
  BoundProgram bound;
  bound.functions.push_back({.function = &function});
  EXPECT_EQ(find_function(bound, "main").value(), 0u);
  EXPECT_EQ(find_function(bound, "other").error().message, "no function 'other'; the program has: main");
}

}  // namespace
}  // namespace intarsia
