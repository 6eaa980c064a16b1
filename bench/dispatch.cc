// Cost of a step whose kernel does nothing: a program of 1,000 empty regions, each reading the value that the
// previous one wrote. Prints one JSON object; aim: under 200 ns per step, no allocation in a run.
//
//   build/bin/bench_dispatch [SECONDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/session.h"
#include "tests/support/count_allocations.h"
#include "tests/support/runtime_support.h"

namespace {

using namespace intarsia;
using Clock = std::chrono::steady_clock;

class Empty : public Executable {
 public:
  Status run(const RunContext&) const override { return {}; }
};

test::ProgramMaker chain(int steps) {
  test::ProgramMaker maker;
  uint32_t last = maker.input("x", {16});
  for (int i = 0; i + 1 < steps; ++i) {
    const uint32_t next = maker.arena("t" + std::to_string(i), {16});
    maker.run("", {last}, {next});
    last = next;
  }
  maker.run("", {last}, {maker.output("y", {16})});
  return maker;
}

Status measure(double seconds) {
  constexpr int steps = 1000;
  const test::TestFolder folder;
  TRY(chain(steps).write(folder / "p.so"));
  const std::vector<RunBackend> backends = {
      {"toy",
       [](const LoadContext&) -> Result<std::unique_ptr<Executable>> { return std::make_unique<Empty>(); }}};
  Session session = TRY(Session::create(TRY(bind_program(TRY(load_program(folder / "p.so", backends)), {}))));
  alignas(64) float x[16] = {}, y[16] = {};
  const NamedTensor inputs[] = {{"x", {x, DType::f32, {16}}, nullptr}};
  NamedTensor outputs[] = {{"y", {y, DType::f32, {16}}, nullptr}};
  TRY(session.run("", inputs, outputs));

  std::vector<double> ns_per_step;
  const uint64_t allocations = test::allocation_count();
  ns_per_step.reserve(1 << 20);
  const uint64_t own = test::allocation_count() - allocations;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (Clock::now() < end && ns_per_step.size() < ns_per_step.capacity()) {
    const Clock::time_point begin = Clock::now();
    TRY(session.run("", inputs, outputs));
    ns_per_step.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / steps);
  }
  const uint64_t made = test::allocation_count() - allocations - own;
  std::sort(ns_per_step.begin(), ns_per_step.end());
  const size_t runs = ns_per_step.size();
  std::printf(
      "{\"steps\": %d, \"runs\": %zu, \"ns_per_step_median\": %.1f, \"ns_per_step_min\": %.1f, "
      "\"ns_per_step_p99\": %.1f, \"allocations_per_run\": %.3f}\n",
      steps, runs, ns_per_step[runs / 2], ns_per_step[0], ns_per_step[runs * 99 / 100],
      static_cast<double>(made) / static_cast<double>(runs));
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status status = measure(count > 1 ? std::atof(arguments[1]) : 1.0);
  if (!status) std::fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
