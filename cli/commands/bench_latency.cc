// bench --mode latency: single runs, each after the previous one.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands/bench_work.h"
#include "cli/commands/latency_contender.h"
#include "cli/text/wrap_text.h"

namespace {

/// Part of the time at one shape until all runtimes have opened the model.
constexpr double open_part = 0.15;

/// Runtimes to compare with, and the configurations of each, of which the best one counts.
const std::map<std::string, std::vector<std::string>> latency_peers = {
    {"onnxruntime", {""}},
    {"openvino", {"latency_hint", "one_stream"}},
    {"tensorflow", {""}},
};

Contenders start_latency_contenders(const std::vector<std::string>& against) {
  Contenders contenders;
  contenders.push_back(std::make_unique<LatencyContender>("intarsia", ""));
  for (const std::string& runtime : against) {
    for (const std::string& configuration : latency_peers.at(runtime))
      contenders.push_back(std::make_unique<LatencyContender>(runtime, configuration));
  }
  return contenders;
}

/// Returns the reports, ours first; a runtime with several configurations keeps the one with the smallest
/// median.
Json best_latencies(const Contenders& contenders, const std::vector<Json>& differences) {
  Json results = Json::array();
  for (size_t i = 0; i < contenders.size(); ++i) {
    Json result = contenders[i]->report();
    result["outputs"] = differences[i];
    if (i > 0 && results.back()["runtime"] == result["runtime"]) {
      if (result["median_ms"] < results.back()["median_ms"]) results.back() = result;
    } else {
      results.push_back(result);
    }
  }
  return results;
}

/// Returns the best peer by median and how many times our time the peers take; nulls without peers.
Json compare_medians(const Json& results) {
  if (results.size() < 2) return {{"best_peer", nullptr}, {"ratio_median", nullptr}, {"ratio_min", nullptr}};
  const auto least = [&](const char* field) {
    return std::min_element(results.begin() + 1, results.end(),
                            [&](const Json& a, const Json& b) { return a[field] < b[field]; });
  };
  const auto ratio = [&](const char* field) {
    return least(field)->at(field).get<double>() / results[0][field].get<double>();
  };
  return {{"best_peer", least("median_ms")->at("runtime")},
          {"ratio_median", ratio("median_ms")},
          {"ratio_min", ratio("min_ms")}};
}

/// Opens and measures the contenders, ours first, on the inputs of one shape.
Json measure_latency(const Contenders& contenders, const BenchOptions& options, const Subject& subject,
                     const std::vector<intarsia::Argument>& inputs, const ShowProgress& progress) {
  auto& ours = static_cast<LatencyContender&>(*contenders[0]);
  auto folder = std::make_unique<TemporaryFolder>();
  const InputValues values(inputs, options.inputs);
  Work work = make_work(options, subject, write_inputs(values, *folder), *folder);
  Json our_outputs;
  std::vector<Json> differences;
  for (const auto& contender : contenders) {
    const double opened = static_cast<double>(differences.size()) / static_cast<double>(contenders.size());
    progress("opening " + contender->runtime(), opened * open_part);
    work.folder = *folder / fmt::format("outputs{}", differences.size());
    const Json outputs = contender->open(work);
    if (differences.empty()) {
      our_outputs = outputs;
      work.path = subject.model;
      differences.push_back(nullptr);
    } else {
      differences.push_back(compare_outputs(our_outputs, outputs, subject.precision));
    }
  }
  folder.reset();
  const double waited = measure(contenders, subject.threads, options.seconds, [&](double done) {
    progress("measuring", open_part + (1 - open_part) * done);
  });
  Json report{{"mode", "latency"},
              {"model", subject.model.empty() ? Json(nullptr) : Json(subject.model)},
              {"program", options.is_program ? Json(options.path) : Json(nullptr)},
              {"threads", subject.threads},
              {"precision", subject.precision},
              {"sizes", sizes_of_run(subject.function, values.tensors())},
              {"inputs", values.notes()},
              {"alternative", ours.alternative()},
              {"waited_s", waited},
              {"results", best_latencies(contenders, differences)}};
  report.update(compare_medians(report["results"]));
  report["profile"] = options.profile.wanted ? ours.profile() : Json(nullptr);
  return report;
}

}  // namespace

std::vector<Json> bench_latency(const BenchOptions& options, const ShowProgress& progress) {
  const size_t count = count_shapes(options);
  std::vector<Contenders>
      contenders;  // of each shape processes of their own, which start before libraries open
  for (size_t i = 0; i < count; ++i) contenders.push_back(start_latency_contenders(options.against));
  const TemporaryFolder folder;
  const Subject subject = prepare_subject(options, options.compile, folder, progress);
  std::vector<Json> reports;
  for (size_t i = 0; i < count; ++i) {
    const double part = (1 - compiled_at) / static_cast<double>(count);
    const double from = compiled_at + part * static_cast<double>(i);
    reports.push_back(
        measure_latency(contenders[i], options, subject, subject.inputs[i],
                        [&](const std::string& phase, double done) { progress(phase, from + part * done); }));
    contenders[i].clear();
  }
  return reports;
}

namespace {

/// Formats the comparison by medians and minima, with the faster one by medians first: "openvino is 1.05
/// times as fast as intarsia by medians, 1.03 times by minima".
std::string print_winner(const Json& report) {
  const double median = report["ratio_median"], minimum = report["ratio_min"];
  const std::string peer = report["best_peer"];
  const bool is_ours = median >= 1;
  return fmt::format("{} is {:.2f} times as fast as {} by medians, {:.2f} times by minima\n",
                     is_ours ? "intarsia" : peer, is_ours ? median : 1 / median, is_ours ? peer : "intarsia",
                     is_ours ? minimum : 1 / minimum);
}

/// Formats the columns of numbers.
std::string print_numbers(const Json& result) {
  return fmt::format("{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.1f}{:>8.1f}", result["min_ms"].get<double>(),
                     result["median_ms"].get<double>(), result["p99_ms"].get<double>(),
                     result["cpu_ms"].get<double>(), result["throughput_per_s"].get<double>(),
                     result["peak_rss_mb"].get<double>());
}

/// Formats the number of runs of each runtime, and how long the measurement waited for the machine.
std::string print_rounds(const Json& report) {
  std::string text;
  for (const Json& result : report["results"]) {
    const Json& configuration = result["configuration"];
    text += fmt::format("  {} {}{}: {} in {}, {} discarded\n", result["runtime"].get<std::string>(),
                        result["version"].get<std::string>(),
                        configuration.is_null() ? "" : ", " + configuration.get<std::string>(),
                        count_of(result["runs"].get<size_t>(), "run"),
                        count_of(result["rounds"].get<size_t>(), "round"),
                        result["discarded_rounds"].get<size_t>());
  }
  return text +
         fmt::format("  waited {:.1f} s until each thread had a core\n", report["waited_s"].get<double>());
}

/// Formats what was measured at one shape, without the line of titles.
std::string print_measured(const Json& report, const BenchOptions& options) {
  std::string text;
  for (const Json& result : report["results"]) {
    text +=
        fmt::format("  {:<12}{}{}\n", result["runtime"].get<std::string>(), print_numbers(result),
                    result["outputs"].is_null() ? "" : fmt::format("  {:.1e}", largest_difference(result)));
  }
  if (!report["best_peer"].is_null()) text += "  " + print_winner(report);
  text += print_alternative(report["alternative"]);
  if (options.verbosity == Verbosity::verbose) text += print_rounds(report);
  if (!report["profile"].is_null())
    text += print_profile(report["profile"], options.profile.all_rows, output_width());
  return text;
}

}  // namespace

std::string print_latency(const std::vector<Json>& reports, const BenchOptions& options) {
  const bool is_one = reports.size() == 1;
  std::string text =
      fmt::format("{}, {}", options.path, count_of(reports[0]["threads"].get<size_t>(), "thread"));
  if (is_one && !reports[0]["sizes"].empty()) text += ", " + print_sizes(reports[0]["sizes"]);
  text += fmt::format("\n  {:<12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}  {}\n", "ms per run:", "min", "median", "p99",
                      "cpu", "runs/s", "MB", "difference");
  for (const Json& report : reports) {
    if (!is_one) text += fmt::format("  {}:\n", print_sizes(report["sizes"]));
    text += print_measured(report, options);
  }
  return text;
}
