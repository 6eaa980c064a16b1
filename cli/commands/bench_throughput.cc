// bench --mode throughput: many frames at once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands/bench_work.h"
#include "cli/commands/throughput_contender.h"
#include "cli/system/cores.h"

namespace {

intarsia::CompileOptions options_for_stages(const BenchOptions& options) {
  intarsia::CompileOptions compile = options.compile;
  compile.objective = intarsia::Objective::throughput;
  return compile;
}

/// Returns the options for the same devices, each of which runs the whole model.
intarsia::CompileOptions options_for_replicas(const BenchOptions& options) {
  intarsia::CompileOptions compile = options_for_stages(options);
  compile.stages = "1";
  compile.cuts.clear();
  compile.plan.clear();
  return compile;
}

/// Contenders, ours first: as stages, then as replicas of the whole if that is another program; then the
/// peers.
struct Field {
  Contenders contenders;
  ThroughputContender* stages = nullptr;
  ThroughputContender* replicas = nullptr;
};

/// Starts the processes of all contenders.
Field start_field(const BenchOptions& options) {
  constexpr double min_rounds = 3, shortest = 0.05, longest = 5;  // seconds
  const auto count = static_cast<double>(options.against.size() + 2);
  const double round = std::clamp(options.seconds / (min_rounds * count), shortest, longest);
  Field field;
  const auto add = [&](const std::string& runtime) {
    auto contender = std::make_unique<ThroughputContender>(runtime, round);
    ThroughputContender* added = contender.get();
    field.contenders.push_back(std::move(contender));
    return added;
  };
  field.stages = add("intarsia");
  field.replicas = add("intarsia");
  for (const std::string& runtime : options.against) add(runtime);
  return field;
}

/// Opens our contenders and returns their outputs. Where the first has stages, the second runs the whole
/// program; else the first already does, and the second's process ends.
std::vector<Json> open_ours(Field& field, const BenchOptions& options, Work work,
                            const TemporaryFolder& folder, const ShowProgress& progress) {
  Json outputs = field.stages->open(work);
  const bool is_whole = field.stages->stages().size() == 1;
  if (options.is_program) {
    work.devices = options.compile.devices;
    if (is_whole && !work.devices.empty()) outputs = field.stages->open(work);
  }
  const bool has_other = !is_whole && (!options.is_program || !work.devices.empty());
  if (!has_other) {
    field.contenders.erase(field.contenders.begin() + 1);
    return {outputs};
  }
  if (!options.is_program) {
    work.path = folder / "replicas.so";
    constexpr double from = compiled_at, to = (compiled_at + opened_at) / 2;
    compile_for_bench(options.path, work.path, options_for_replicas(options), from, to, progress);
  }
  work.folder = folder / "outputs_of_replicas";
  return {outputs, field.replicas->open(work)};
}

/// Opens all contenders. Returns the differences from our outputs, by contender.
std::vector<Json> open_all(Field& field, const BenchOptions& options, const Subject& subject,
                           const Json& inputs, const TemporaryFolder& folder, const ShowProgress& progress) {
  Work work = make_work(options, subject, inputs, folder);
  const std::vector<Json> ours = open_ours(field, options, work, folder, progress);
  std::vector<Json> differences{nullptr};
  if (ours.size() > 1) differences.push_back(compare_outputs(ours[0], ours[1], subject.precision));
  work.path = subject.model;
  for (size_t i = differences.size(); i < field.contenders.size(); ++i) {
    progress("opening " + field.contenders[i]->runtime(), opened_at);
    work.folder = folder / fmt::format("outputs{}", i);
    differences.push_back(compare_outputs(ours[0], field.contenders[i]->open(work), subject.precision));
  }
  return differences;
}

/// Returns the best peer, and the rate of our first contender relative to it (both null without peers) and
/// relative to our best one.
Json compare_rates(const Json& results) {
  const auto rate = [](const Json& result) { return result["frames_per_second"].get<double>(); };
  double ours = 0, theirs = 0;
  Json best = nullptr;
  for (const Json& result : results) {
    const bool is_ours = result["runtime"] == "intarsia";
    if (is_ours) ours = std::max(ours, rate(result));
    if (!is_ours && rate(result) > theirs) {
      theirs = rate(result);
      best = result["runtime"];
    }
  }
  return {{"best_peer", best},
          {"ratio", best.is_null() ? Json(nullptr) : Json(rate(results[0]) / theirs)},
          {"ratio_to_ours", rate(results[0]) / ours}};
}

/// Formats the name of a result: "intarsia, 2 stages", "intarsia, 2 of the whole", "openvino, 2 at once".
std::string name_result(const Json& result) {
  const std::string runtime = result["runtime"];
  if (result["stages"].is_null())
    return fmt::format("{}, {} at once", runtime, result["lanes"].get<size_t>());
  const size_t stages = result["stages"].size();
  if (stages > 1) return fmt::format("{}, {}", runtime, count_of(stages, "stage"));
  return fmt::format("{}, {} of the whole", runtime, result["stages"][0]["replicas"].get<size_t>());
}

}  // namespace

Json bench_throughput(const BenchOptions& options, const ShowProgress& progress) {
  Field field = start_field(options);
  auto folder = std::make_unique<TemporaryFolder>();
  const Subject subject = prepare_subject(options, options_for_stages(options), *folder, progress);
  const InputValues values(subject.inputs[0], options.inputs);
  const std::vector<Json> differences =
      open_all(field, options, subject, write_inputs(values, *folder), *folder, progress);
  folder.reset();
  const auto cores = static_cast<int>(cores_of_process().size());
  const double waited = measure(field.contenders, cores, options.seconds, [&](double done) {
    progress("measuring", opened_at + (1 - opened_at) * done);
  });
  Json results = Json::array();
  for (size_t i = 0; i < field.contenders.size(); ++i) {
    results.push_back(field.contenders[i]->report());
    results.back()["outputs"] = differences[i];
  }
  Json report{{"mode", "throughput"},
              {"model", subject.model.empty() ? Json(nullptr) : Json(subject.model)},
              {"program", options.is_program ? Json(options.path) : Json(nullptr)},
              {"threads", subject.threads},
              {"precision", subject.precision},
              {"cores", cores},
              {"sizes", sizes_of_run(subject.function, values.tensors())},
              {"inputs", values.notes()},
              {"plan", subject.compiled.is_null() ? Json(nullptr) : subject.compiled.at("throughput")},
              {"waited_s", waited},
              {"results", results}};
  report.update(compare_rates(results));
  return report;
}

std::string print_throughput(const Json& report, const BenchOptions& options) {
  std::string text =
      fmt::format("{}, {}, {} of a run\n", options.path, count_of(report["cores"].get<size_t>(), "core"),
                  count_of(report["threads"].get<size_t>(), "thread"));
  text += fmt::format("  {:<24}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}\n", "", "frames/s", "50% ms", "90% ms",
                      "99% ms", "cpu ms", "MB");
  for (const Json& result : report["results"]) {
    const Json& latency = result["latency_ms"];
    text += fmt::format("  {:<24}{:>9.1f}{:>9.3f}{:>9.3f}{:>9.3f}{:>8.2f}{:>8.1f}\n", name_result(result),
                        result["frames_per_second"].get<double>(), latency["p50"].get<double>(),
                        latency["p90"].get<double>(), latency["p99"].get<double>(),
                        result["cpu_ms_per_frame"].get<double>(), result["peak_rss_mb"].get<double>());
  }
  if (!report["best_peer"].is_null())
    text += fmt::format("  {:.2f} times the frames per second of {}\n", report["ratio"].get<double>(),
                        report["best_peer"].get<std::string>());
  if (options.verbosity == Verbosity::verbose)
    for (const Json& result : report["results"])
      text += fmt::format(
          "  {} {}: {}, {} discarded\n", name_result(result), result["version"].get<std::string>(),
          count_of(result["rounds"].get<size_t>(), "round"), result["discarded_rounds"].get<size_t>());
  if (!report["plan"].is_null())
    text += fmt::format("  chosen: {}\n", report["plan"]["chosen"].get<std::string>());
  return text;
}
