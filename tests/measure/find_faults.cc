// Search for faulty programs among several that should compute the same.
//
// Covers: src/measure/ benchmark_subject.cc find_faults.cc other_inputs.cc
#include "measure/find_faults.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace intarsia {
namespace {

std::vector<NamedValue> one_value(const std::string& name, const std::vector<float>& elements) {
  Tensor tensor(DType::f32, {static_cast<int64_t>(elements.size())});
  std::ranges::copy(elements, tensor.as<float>().begin());
  return {{name, tensor}};
}

/// Makes y[i] = f(x[i]).
ComputeValues each(const std::function<float(float)>& f) {
  return [f](const std::vector<NamedValue>& inputs) -> Result<std::vector<NamedValue>> {
    std::vector<float> made;
    for (float element : inputs[0].tensor.as<float>()) made.push_back(f(element));
    return one_value("y", made);
  };
}

const std::vector<NamedValue> x = one_value("x", {0.25F, 0.5F, -0.75F, 0.9F, 0.1F, -0.3F, 0.6F, -0.2F});

const ComputeValues twice = each([](float a) { return a + a; });
const ComputeValues thrice = each([](float a) { return 3 * a; });
const ComputeValues nearly_twice = each([](float a) { return 2.0001F * a; });

using Faults = std::vector<std::string>;

std::vector<bool> faulty(std::vector<ComputeValues> programs, const Agreement& agreement = {}) {
  std::vector<bool> list;
  for (const std::string& fault : find_faults(programs, x, agreement)) list.push_back(!fault.empty());
  return list;
}

TEST(FindFaults, WhatMostComputeIsRight) {
  EXPECT_EQ(faulty({twice, nearly_twice, twice}), (std::vector{false, false, false}));
  EXPECT_EQ(faulty({twice, thrice, twice}), (std::vector{false, true, false}));
  EXPECT_EQ(faulty({thrice, twice, twice}), (std::vector{true, false, false}));
}

TEST(FindFaults, AnEvenDivisionIsDecidedByTheTrustedOrElseTheFirst) {
  EXPECT_EQ(faulty({twice, thrice}), (std::vector{false, true}));
  EXPECT_EQ(faulty({twice, thrice}, {.trusted = 1}), (std::vector{true, false}));
  EXPECT_EQ(faulty({twice, thrice, twice}, {.trusted = 1}), (std::vector{false, true, false}));
}

TEST(FindFaults, NamesTheOutputAndTheElement) {
  const std::vector<ComputeValues> programs{twice, thrice};
  const std::string fault = find_faults(programs, x, {})[1];
  EXPECT_TRUE(fault.starts_with("output 'y': element 3 is 2.69")) << fault;
}

TEST(FindFaults, EdgesAreAmongTheValues) {
  const ComputeValues same = each([](float a) { return a; });
  const ComputeValues at_most_six = each([](float a) { return std::min(a, 6.0F); });
  EXPECT_EQ(faulty({same, same, at_most_six}), (std::vector{false, false, true}));
}

TEST(FindFaults, WhatTheModelItselfLeavesOpenIsNoFault) {
  const auto random = [](unsigned seed) {
    return each(
        [numbers = std::make_shared<std::mt19937>(seed)](float) { return float((*numbers)() % 1000); });
  };
  EXPECT_EQ(faulty({random(1), random(2)}), (std::vector{false, false}));
  const ComputeValues steep = each([](float a) { return std::sin(1e7F * a); });
  const ComputeValues steep_elsewhere = each([](float a) { return std::sin(1e7F * a + 1); });
  EXPECT_EQ(faulty({steep, steep_elsewhere}), (std::vector{false, false}));
}

TEST(FindFaults, WhatDoesNotRunIsNotCompared) {
  const ComputeValues broken = [](const auto&) -> Result<std::vector<NamedValue>> {
    return fail("it does not run");
  };
  EXPECT_EQ(faulty({broken, twice, twice}), (std::vector{false, false, false}));
  EXPECT_EQ(faulty({twice, broken}), (std::vector{false, false}));
}

}  // namespace
}  // namespace intarsia
