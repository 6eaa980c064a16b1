// intarsia bench
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "compile_options.h"
#include "contender.h"
#include "inputs.h"
#include "npy.h"
#include "print.h"
#include "profile.h"
#include "progress.h"

namespace {

using Contenders = std::vector<std::unique_ptr<Contender>>;

struct BenchOptions {
  std::string path, model;
  std::vector<std::string> inputs, against;
  double seconds = 10;
  bool json = false;
  ProfileOptions profile;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;
};

/// The runtimes to compare with, and their configurations: the best one counts.
const std::map<std::string, std::vector<std::string>> peers = {
    {"onnxruntime", {""}},
    {"openvino", {"latency_hint", "one_stream"}},
    {"tensorflow", {""}},
};

/// A folder in the system's temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "intarsia-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw intarsia::Error("cannot create a temporary folder '" + path_ +
                            "'; set TMPDIR to a folder that can be written");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void check_usage(const BenchOptions& options, bool program) {
  for (const std::string& runtime : options.against) {
    if (peers.count(runtime) == 0)
      throw UsageError("--against " + runtime + ": want onnxruntime, openvino or tensorflow");
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  if (options.compile.threads > CPU_COUNT(&allowed))
    throw UsageError(
        fmt::format("--threads {}: there are {} cores", options.compile.threads, CPU_COUNT(&allowed)));
  if (!program && !options.model.empty())
    throw UsageError("--model is for timing a program; " + options.path + " is taken for a model");
}

Contenders start_contenders(const std::vector<std::string>& against) {
  Contenders contenders;
  contenders.push_back(std::make_unique<Contender>("intarsia", ""));
  for (const std::string& runtime : against) {
    for (const std::string& configuration : peers.at(runtime))
      contenders.push_back(std::make_unique<Contender>(runtime, configuration));
  }
  return contenders;
}

/// What is timed: the program and the model that it was compiled from.
struct Subject {
  std::string program, model;
  int threads = 1;
  std::string function;  // of a SavedModel: its signature
  std::vector<intarsia::Argument> inputs;
};

/// Called with what is being done, and how much of everything is done.
using ShowProgress = std::function<void(const std::string& phase, double part)>;

/// Rough parts of a bench's time: until the model is compiled, until all runtimes have opened it.
constexpr double compiled_at = 0.4, opened_at = 0.5;

Subject prepare(const BenchOptions& options, bool is_program, const std::string& compiled,
                const ShowProgress& progress) {
  Subject subject{is_program ? options.path : compiled, options.model, options.compile.threads, {}, {}};
  if (!is_program) {
    intarsia::CompileOptions compile = options.compile;
    compile.progress = [&](const std::string& phase, int done, int total) {
      progress(phase, compiled_at * static_cast<double>(done) / total);
    };
    intarsia::Compiler::get().compile(options.path, compiled, compile);
  }
  const auto program = intarsia::Program::load(subject.program);
  intarsia_program_info info{};
  info.struct_size = sizeof(info);
  intarsia::detail::check(intarsia_program_describe(program.get(), &info));
  if (subject.model.empty()) subject.model = info.model_path;
  if (subject.threads == 0) subject.threads = static_cast<int>(info.threads);
  const std::vector<intarsia::Function> functions = program.functions();
  if (functions.size() != 1)
    throw intarsia::Error(
        fmt::format("{}: has {} functions; bench times programs with one", options.path, functions.size()));
  subject.function = functions[0].name;
  subject.inputs = functions[0].inputs;
  if (subject.model.empty() && !options.against.empty())
    throw intarsia::Error(options.path +
                          ": does not say which model it was compiled from; name it with --model");
  return subject;
}

/// The inputs as files for the contenders' processes.
Json write_inputs(const InputValues& values, const TemporaryFolder& folder) {
  Json files = Json::array();
  for (const intarsia_tensor& tensor : values.tensors()) {
    const std::string file = folder / fmt::format("input{}.npy", files.size());
    write_npy(file, tensor);
    files.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"file", file}});
  }
  return files;
}

/// A contender's outputs, as differences from those of the first.
Json compare(const Json& ours, const Json& theirs) {
  if (ours.size() != theirs.size())
    throw intarsia::Error(fmt::format("has {} outputs, intarsia {}", theirs.size(), ours.size()));
  Json compared = Json::array();
  for (size_t i = 0; i < ours.size(); ++i) {
    Array a = read_npy(ours[i]["file"], ours[i]["dtype"]),
          b = read_npy(theirs[i]["file"], theirs[i]["dtype"]);
    const intarsia::View actual = a.view(), reference = b.view();
    const std::string name = ours[i]["name"];
    const auto report = intarsia::Compiler::get().compare(intarsia::detail::tensor(name, actual),
                                                          intarsia::detail::tensor(name, reference));
    compared.push_back(Json::parse(report.json));
  }
  return compared;
}

/// For a runtime with several configurations, the one with the smallest median; ours first.
Json best_results(const Contenders& contenders, const std::vector<Json>& differences) {
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

/// The best peer and how many times our time it takes; null without peers.
Json compare_times(const Json& results) {
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

Json bench(const BenchOptions& options, bool is_program, const ShowProgress& progress) {
  const Contenders contenders = start_contenders(options.against);
  auto folder = std::make_unique<TemporaryFolder>();
  const Subject subject = prepare(options, is_program, *folder / "program.so", progress);
  const InputValues values(subject.inputs, parse_input_files(options.inputs));
  Work work{subject.program,     subject.threads,  write_inputs(values, *folder),
            *folder / "outputs", subject.function, options.compile.op_libraries};
  Json ours;
  std::vector<Json> differences;
  for (const auto& contender : contenders) {
    const double opened = static_cast<double>(differences.size()) / static_cast<double>(contenders.size());
    progress("opening " + contender->runtime(), compiled_at + (opened_at - compiled_at) * opened);
    const Json outputs = contender->open(work);
    if (differences.empty()) {
      ours = outputs;
      work.path = subject.model;
      differences.push_back(nullptr);
    } else {
      differences.push_back(compare(ours, outputs));
    }
  }
  folder.reset();
  const double waited = measure(contenders, subject.threads, options.seconds, [&](double done) {
    progress("measuring", opened_at + (1 - opened_at) * done);
  });
  Json report{{"model", subject.model.empty() ? Json(nullptr) : Json(subject.model)},
              {"program", is_program ? Json(options.path) : Json(nullptr)},
              {"threads", subject.threads},
              {"inputs", values.notes()},
              {"alternative", contenders[0]->alternative()},
              {"waited_s", waited},
              {"results", best_results(contenders, differences)}};
  report.update(compare_times(report["results"]));
  report["profile"] = options.profile.wanted ? contenders[0]->profile() : Json(nullptr);
  return report;
}

std::string print_report(const Json& report, const std::string& path, bool all_rows) {
  const int threads = report["threads"];
  std::string text = fmt::format("{}, {} thread{}\n", path, threads, threads == 1 ? "" : "s");
  text += fmt::format("  {:<14}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}  {}\n", "ms per run:", "min", "median", "p99",
                      "cpu", "runs/s", "MB", "largest difference");
  for (const Json& result : report["results"]) {
    double difference = 0;
    if (!result["outputs"].is_null()) {
      for (const Json& output : result["outputs"])
        difference = std::max(difference, output["max_rel"].is_null() ? 0 : output["max_rel"].get<double>());
    }
    text += fmt::format("  {:<14}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.1f}{:>10.1f}  {}\n",
                        result["runtime"].get<std::string>(), result["min_ms"].get<double>(),
                        result["median_ms"].get<double>(), result["p99_ms"].get<double>(),
                        result["cpu_ms"].get<double>(), result["throughput_per_s"].get<double>(),
                        result["peak_rss_mb"].get<double>(),
                        result["outputs"].is_null() ? "" : fmt::format("{:.1e}", difference));
  }
  if (!report["best_peer"].is_null()) {
    text += fmt::format("  {} takes {:.2f} times our time (median; minimum of all peers {:.2f})\n",
                        report["best_peer"].get<std::string>(), report["ratio_median"].get<double>(),
                        report["ratio_min"].get<double>());
  }
  text += print_alternative(report["alternative"]);
  if (!report["profile"].is_null()) text += print_profile(report["profile"], all_rows, output_width());
  return text;
}

/// The first output on which another runtime disagrees with ours, as an error.
void throw_mismatch(const Json& report, const std::string& path) {
  for (const Json& result : report["results"]) {
    if (result["outputs"].is_null()) continue;
    for (const Json& output : result["outputs"]) {
      if (output["ok"].get<bool>()) continue;
      throw intarsia::Error(
          fmt::format("{}: output '{}' differs from that of {}: {}", path, output["name"].get<std::string>(),
                      result["runtime"].get<std::string>(), output["why"].get<std::string>()));
    }
  }
}

void bench_and_print(const BenchOptions& options, bool is_program) {
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  const Json report =
      bench(options, is_program, [&](const std::string& phase, double part) { display->show(phase, part); });
  display.reset();
  if (options.json) {
    print_json(report);
  } else {
    std::fputs(print_report(report, options.path, options.profile.all_rows).c_str(), stdout);
  }
  throw_mismatch(report, options.path);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Time a model or program, alone or against other runtimes");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("path", options->path, "A model, which is compiled first, or a program")
      ->required()
      ->type_name("MODEL|PROGRAM");
  add_input_option(*command, options->inputs);
  command
      ->add_option("--against", options->against, "Other runtimes to time: onnxruntime, openvino, tensorflow")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command
      ->add_option("--model", options->model,
                   "The model for the other runtimes (default: what the program was compiled from)")
      ->type_name("MODEL");
  command->add_option("-t,--seconds", options->seconds, "How long to measure (default: 10)")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  add_profile_options(*command, options->profile);
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->compile);
  command->footer(
      "Each runtime has its own process. They run in turn, at least 10 runs at a time with pauses of "
      "100 ms;\n"
      "a turn counts only if the others were idle meanwhile, and begins when each thread has a core of its "
      "own.\n\n"
      "Examples:\n"
      "  intarsia bench resnet.onnx --against onnxruntime,openvino --threads 2\n"
      "  intarsia bench resnet.so -i image=cat.npy --json\n"
      "  intarsia bench saved_model --shape image=1x224x224x3 --against tensorflow");
  command->callback([options, command] {
    const bool program = is_program(options->path);
    if (program)
      refuse_compile_options(*command,
                             {"--threads", "--signature", "--op-library"});  // the peers need them, too
    check_usage(*options, program);
    bench_and_print(*options, program);
  });
}
