// Models compiled with a clock that follows a price list: nothing depends on the machine's speed.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "compile/compile_model.h"
#include "program/read_program.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/test_folder.h"

namespace intarsia::test {

/// Target that takes all operators except those it refuses. Its regions are empty: only the clock below
/// "runs" them.
class PricedTarget : public Target {
 public:
  PricedTarget(std::string name, std::set<std::string> refused, bool framework = false, bool users = false)
      : Target({.name = std::move(name),
                .device_kinds = {},
                .code_generation = "1",
                .needs_framework = framework,
                .is_users_own = users}),
        refused_(std::move(refused)) {}
  std::string version() const override { return "1"; }
  Support supports(const Graph& graph, NodeId node, const TargetDevice&) const override {
    const std::string& op = graph.node(node).op;
    return refused_.contains(op) ? Support::refused("no " + op) : Support::supported();
  }
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice&,
                                 const CompileOptions& options) const override {
    if (!options.is_loaded_next) ++tried;
    if (region.nodes.size() >= breaks_at) return fail("{} nodes are too many", region.nodes.size());
    CompiledRegion compiled;
    compiled.blob = "a blob";
    return compiled;
  }

  size_t breaks_at = 1000;
  mutable int tried = 0;  // number of compiled regions that are not loaded next
  void set_code_generation(const std::string& version) { info_.code_generation = version; }

 private:
  std::string name_;
  std::set<std::string> refused_;
};

constexpr int64_t region_ns = 5000;  // cost of a region besides its nodes, visible only in whole runs

/// Returns the key of a backend's boundaries in the table of costs.
inline std::string boundary_key(const Target& backend, int threads) {
  return fmt::format("{} {} {} cpu {} threads", backend.name(), backend.version(),
                     backend.info().code_generation, threads);
}

/// Returns the backends of the regions, in order: "own framework own".
inline std::string print_regions(const CompiledFunction& function) {
  std::string text;
  for (const Region& region : function.chosen.plan.partition.regions)
    text += (text.empty() ? "" : " ") + function.problem->targets[region.target].backend->name();
  return text;
}

/// Fixture with a chain of operators, compiled with prices for each operator in each backend.
class PlanChoice : public testing::Test {
 protected:
  PlanChoice() {
    request.model_path = folder_ + "/model.onnx";
    request.program_path = folder_ + "/model.so";
    request.cache_folder = folder_;
    add_target("own", {"Exp"});
    framework = add_target("framework", {}, true);
    services.measuring.time_kernels = [](const std::string&, const KernelBatch&, const std::string&, int) {
      return std::vector<Timing>();
    };
    services.measuring.probe = [this] { return ++probed, probe; };
    services.measuring.time_link = [](const std::string&, const std::string&) {
      return LinkCost{.latency_ns = 1000};
    };
    services.measuring.time_programs = [this](std::vector<TemporaryFile> programs,
                                              const TimingOptions& options) {
      return time(programs, options);
    };
  }

  /// Puts prices of boundaries into the table of costs, so that none is measured.
  void know_boundaries() {
    CostTable table(request.cache_folder);
    for (const auto& backend : services.backends) {
      const double call = backend->info().needs_framework ? 10'000 : 2000;
      table.add_link("boundary", boundary_key(*backend, request.threads), {call, 0.2, 1});
    }
  }

  PricedTarget* add_target(const std::string& name, const std::set<std::string>& refused,
                           bool is_framework = false, bool users = false) {
    auto target = std::make_unique<PricedTarget>(name, refused, is_framework, users);
    PricedTarget* const made = target.get();
    services.backends.push_back(std::move(target));
    return made;
  }

  /// Writes a chain where node i reads the output of node i - 1; its name is its operator and number,
  /// "Relu3".
  void write_chain(const std::vector<std::string>& ops) {
    onnx::Messages nodes;
    const auto value = [&](size_t at) {
      return at == 0 ? "x" : at == ops.size() ? "y" : fmt::format("v{}", at);
    };
    for (size_t i = 0; i < ops.size(); ++i)
      nodes.push_back(onnx::node_message(ops[i], std::vector(ops[i] == "MatMul" ? 2 : 1, value(i)),
                                         {value(i + 1)}, {}, "", fmt::format("{}{}", ops[i], i)));
    std::ofstream(request.model_path, std::ios::binary)
        << onnx::model_message({.nodes = nodes,
                                .inputs = {onnx::value_message("x", DType::f32, {2, 2})},
                                .outputs = {onnx::value_message("y")}});
  }

  std::vector<Result<PlanTimes>> time(const std::vector<TemporaryFile>& programs,
                                      const TimingOptions& options) {
    ++timed;
    programs_run += programs.size();
    std::vector<Result<PlanTimes>> times;
    for (size_t i = 0; i < programs.size(); ++i) {
      const bool is_loaded = !load_error || !options.in_frameworks.contains(i);
      times.push_back(is_loaded ? time_one(programs[i].path()) : tl::unexpected(*load_error));
    }
    return times;
  }

  Result<PlanTimes> time_one(const std::string& path) {
    const fbs::ProgramT program = TRY(read_program(path)).description;
    std::vector<int64_t> regions(program.regions.size(), 0);
    PlanTimes times;
    for (const auto& node : program.nodes) {
      const std::string& backend = program.regions[node->region]->backend;
      const int64_t price = prices.at({backend, node->op});
      regions[node->region] += price;
      const auto lie = told.find(node->name);
      if (has_profile)
        times.kernels.push_back(
            {node->region, node->name + ": " + node->op, lie == told.end() ? price : lie->second});
    }
    int64_t whole = 0;
    for (int64_t region : regions) {
      whole += region + region_ns;
      times.regions.push_back(summarize_rounds({region}));
    }
    if (stretch) whole = stretch(program, whole);
    if (whole < 0) return fail("it does not run");
    if (is_wrong && is_wrong(program)) times.fault = "output 'y': element 3 is 7, want 2";
    times.whole = summarize_rounds({whole});
    times.whole.is_disturbed = is_busy;
    for (Timing& region : times.regions) region.is_disturbed = is_busy;
    return times;
  }

  struct Outcome {
    std::string regions;  // print_regions() of the function
    std::vector<std::string> reasons;
    std::optional<PlanReport> report;
  };

  Outcome compile() {
    know_boundaries();
    const Result<CompileResult> result = compile_model(request, services);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    const CompiledFunction& function = result->functions[0];
    std::vector<std::string> reasons;
    for (const PlacedNode& node : function.chosen.plan.placement.nodes) reasons.push_back(node.reason);
    return {print_regions(function), std::move(reasons), function.chosen.report};
  }

  std::string bytes() const {
    std::ifstream file(request.program_path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  CompileRequest request;
  CompileServices services;
  PricedTarget* framework = nullptr;
  std::map<std::pair<std::string, std::string>, int64_t> prices = {
      {{"framework", "Exp"}, 20'000},    {{"own", "Relu"}, 120'000},         {{"framework", "Relu"}, 50'000},
      {{"own", "Sqrt"}, 100'000},        {{"framework", "Sqrt"}, 900'000},   {{"users", "Relu"}, 120'000},
      {{"own", "MatMul"}, 100'000},      {{"framework", "MatMul"}, 100'000}, {{"own", "Transpose"}, 1000},
      {{"framework", "Transpose"}, 4000}};
  /// Returns the true time of a whole run, given the sum of the prices; below 0 it fails.
  std::function<int64_t(const fbs::ProgramT&, int64_t)> stretch;
  std::function<bool(const fbs::ProgramT&)> is_wrong;  // whether it computes something else than the others
  std::optional<Error> load_error;                     // error of loading programs with regions in frameworks
  bool is_busy = false;                 // whether other processes take cores while plans are timed
  bool has_profile = false;             // whether kernels are reported
  std::map<std::string, int64_t> told;  // times that profiles report instead of prices, by node
  int timed = 0;                        // number of calls of the clock
  size_t programs_run = 0;              // number of programs in these calls
  int64_t probe = 1000;                 // nanoseconds that the probe takes
  int probed = 0;                       // number of runs of the probe

 private:
  const test::TestFolder temporary_;
  const std::string folder_ = temporary_.path().string();
};

inline std::vector<std::string> repeat(const std::vector<std::string>& ops, size_t times) {
  std::vector<std::string> all;
  for (size_t i = 0; i < times; ++i) all.insert(all.end(), ops.begin(), ops.end());
  return all;
}

/// Checks whether any of the program's regions belongs to the backend.
inline bool uses(const fbs::ProgramT& program, const std::string& backend) {
  return std::ranges::any_of(program.regions, [&](const auto& region) { return region->backend == backend; });
}

}  // namespace intarsia::test
