// intarsia bench
#include <fmt/format.h>

#include <memory>

#include "cli/commands/bench_work.h"
#include "cli/commands/commands.h"
#include "cli/system/cores.h"
#include "cli/text/wrap_text.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/usage_error.h"

namespace {

void check_against(const BenchOptions& options) {
  const bool is_throughput = options.mode == "throughput";
  for (const std::string& runtime : options.against) {
    const bool is_for_both = runtime == "onnxruntime" || runtime == "openvino";
    if (!is_for_both && runtime != "tensorflow")
      throw UsageError("--against " + runtime + ": want onnxruntime, openvino or tensorflow");
    if (!is_for_both && is_throughput)
      throw UsageError("--against " + runtime + ": --mode throughput takes onnxruntime and openvino");
  }
}

void check_usage(const BenchOptions& options) {
  check_against(options);
  const auto cores = static_cast<int>(cores_of_process().size());
  if (options.compile.threads > cores)
    throw UsageError(fmt::format("--threads {}: there are {} cores", options.compile.threads, cores));
  if (!options.is_program && !options.model.empty())
    throw UsageError("--model is for timing a program; " + options.path + " is taken for a model");
  if (options.mode == "latency") return;
  if (options.profile.wanted) throw UsageError("--profile is of single runs: want --mode latency");
}

/// Throws an error for the first output on which another runtime disagrees with ours.
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

void bench_and_print(const BenchOptions& options) {
  const bool is_throughput = options.mode == "throughput";
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  const ShowProgress progress = [&](const std::string& phase, double part) { display->show(phase, part); };
  const std::vector<Json> reports =
      is_throughput ? std::vector{bench_throughput(options, progress)} : bench_latency(options, progress);
  display.reset();
  if (options.json) {
    print_json(reports.size() == 1 ? reports[0] : Json{{"mode", options.mode}, {"measured", reports}});
  } else {
    print_text(is_throughput ? print_throughput(reports[0], options) : print_latency(reports, options), 4);
  }
  for (const Json& report : reports) throw_mismatch(report, options.path);
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
  command
      ->add_option("--mode", options->mode,
                   "latency: single runs; throughput: many frames at once, as a pipeline (default: latency)")
      ->check(CLI::IsMember({"latency", "throughput"}))
      ->type_name("latency|throughput");
  command->add_option("-t,--seconds", options->seconds, "How long to measure (default: 10)")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  add_profile_options(*command, options->profile);
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->compile);
  describe_shape_of_program(*command, "; lists (1,8,32) are measured in turn");
  command->footer(
      "Each runtime has its own process. They run in turn, at least 10 runs at a time with pauses of 100 ms; "
      "a turn counts only if the others were idle meanwhile, and begins when each thread has a core of its "
      "own.\n"
      "With --mode throughput a model is compiled for stages on -d (default: all cores, --threads or 1 each) "
      "and as replicas of the whole; a program runs its stages, and the whole once more on each core set of "
      "-d.\n\n"
      "Examples:\n"
      "  intarsia bench resnet.onnx --against onnxruntime,openvino --threads 2\n"
      "  intarsia bench resnet.so -i image=cat.npy --json\n"
      "  intarsia bench bert.so --shape ids=1,8x77 --shape mask=1,8x77\n"
      "  intarsia bench resnet.onnx --mode throughput -d cpu:0,cpu:1 --against onnxruntime,openvino\n"
      "  intarsia bench saved_model --shape image=1x224x224x3 --against tensorflow");
  command->callback([options, command] {
    options->is_program = is_program(options->path);
    // Peers also need the signature and the operator libraries.
    std::vector<std::string> allowed{"--threads", "--shape", "--signature", "--op-library"};
    if (options->mode == "throughput") allowed.push_back("--devices");
    if (options->is_program) refuse_compile_options(*command, allowed);
    check_usage(*options);
    const bool is_for_runs =
        command->count("--objective") > 0 && options->compile.objective == intarsia::Objective::latency;
    if (options->mode == "throughput" && is_for_runs)
      throw UsageError("--mode throughput compiles with --objective throughput; leave out --objective");
    bench_and_print(*options);
  });
}
