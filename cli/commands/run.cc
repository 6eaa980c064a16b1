// intarsia run
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <intarsia/intarsia.hpp>
#include <memory>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/run_folder.h"
#include "cli/commands/run_pipeline.h"
#include "cli/commands/run_work.h"
#include "cli/inputs/input_folder.h"
#include "cli/results/trace.h"
#include "cli/system/files.h"
#include "cli/text/wrap_text.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/help.h"
#include "cli/usage/usage_error.h"

namespace {

/// Dump of the values between regions whose name matches.
struct Dump {
  std::string pattern;
  OutputWriter writer;
  Json written = Json::array();
  std::vector<std::string> seen;
  std::string error;

  static void call(void* user, const intarsia_tensor* value) {
    auto& dump = *static_cast<Dump*>(user);
    dump.seen.emplace_back(value->name);
    if (fnmatch(dump.pattern.c_str(), value->name, 0) != 0 || !dump.error.empty()) return;
    try {
      dump.written.push_back(dump.writer.write(std::string("dump.") + value->name, *value));
    } catch (const std::exception& failure) {  // exceptions must not pass through C
      dump.error = failure.what();
    }
  }
};

/// Formats which runs the reported time is of.
std::string print_runs(const RunOptions& options) {
  return options.runs > 1 ? fmt::format(", the median of {} runs after one to warm up", options.runs)
                          : ", the first run, cold (--runs 20 shows more)";
}

/// Formats what runs the program, and the spread of its run times.
std::string print_details(const Json& report, const std::vector<double>& milliseconds) {
  std::string text = fmt::format("on     {}\n", report["alternative"]["targets"].get<std::string>());
  if (milliseconds.size() > 1)
    text += fmt::format("times  {:.3f} ms at least, {:.3f} ms at most\n", quantile(milliseconds, 0),
                        quantile(milliseconds, 1));
  return text;
}

/// Prints a run. Quiet: only outputs that are not in files, and a profile that was asked for.
void print_run(const RunOptions& options, const Json& report, const std::vector<intarsia_tensor>& outputs,
               const std::vector<double>& milliseconds) {
  const bool is_quiet = options.verbosity == Verbosity::quiet;
  std::string text;
  for (const Json& input : report["inputs"]) text += is_quiet ? "" : print_input(input);
  if (!is_quiet || options.folder.empty())
    for (size_t i = 0; i < outputs.size(); ++i) text += print_output(report["outputs"][i], outputs[i]);
  if (!is_quiet) {
    text += print_alternative(report["alternative"]);
    for (const Json& value : report["dumped"])
      text += fmt::format("dumped {}\n", value["file"].get<std::string>());
    if (!options.trace.empty()) text += fmt::format("trace  {}\n", options.trace);
    if (options.verbosity == Verbosity::verbose) text += print_details(report, milliseconds);
    text += print_threads(report);
    text += fmt::format("{}: {:.3f} ms on {}{}\n", options.path, report["milliseconds"].get<double>(),
                        count_of(report["threads"].get<size_t>(), "thread"), print_runs(options));
  }
  if (!report["profile"].is_null())
    text += print_profile(report["profile"], options.profile.all_rows, output_width());
  print_text(text, 7);
}

/// Times the runs, after one to warm up if there are several; returns milliseconds.
std::vector<double> time_runs(Run& run, const RunOptions& options, Dump& dump) {
  if (options.runs > 1) run.run();  // first run fills memory and caches
  if (!options.dump.empty())
    intarsia::detail::check(intarsia_session_set_dump(run.session().get(), Dump::call, &dump));
  std::optional<Trace> trace;
  if (!options.trace.empty()) trace.emplace(run.session().get());
  std::vector<double> milliseconds;
  for (int i = 0; i < std::max(options.runs, 1); ++i) milliseconds.push_back(run.run());
  if (trace) trace->write(options.trace);
  intarsia::detail::check(intarsia_session_set_dump(run.session().get(), nullptr, nullptr));
  if (!dump.error.empty()) throw intarsia::Error(dump.error);
  if (!options.dump.empty() && dump.written.empty())
    throw UsageError(fmt::format("--dump {}: no value between regions has such a name; there are: {}",
                                 options.dump, fmt::join(dump.seen, ", ")));
  return milliseconds;
}

void run_once(const RunOptions& options) {
  const Runnable runnable(options);
  Run run(options, runnable.program());
  run.set_inputs(options.inputs, shapes_to_run_at(options));
  Dump dump{options.dump, OutputWriter(options.folder, files_read(options)), Json::array(), {}, {}};
  const std::vector<double> milliseconds = time_runs(run, options, dump);
  Json report = describe_run(runnable, run);
  report["sizes"] = run.sizes();
  report["inputs"] = run.input_notes();
  report["outputs"] = Json::array();
  for (const intarsia_tensor& output : run.outputs())
    report["outputs"].push_back(dump.writer.write(output.name, output));
  report["dumped"] = dump.written;
  report["alternative"] = describe_alternative(run.alternative());
  report["milliseconds"] = quantile(milliseconds, 0.5);
  report["cold"] = options.runs <= 1;
  report["trace"] = options.trace.empty() ? Json(nullptr) : Json(options.trace);
  report["profile"] = options.profile.wanted
                          ? describe_profile(run.profile(static_cast<size_t>(options.runs)))
                          : Json(nullptr);
  if (options.json) {
    print_json(report);
  } else {
    print_run(options, report, run.outputs(), milliseconds);
  }
}

void run(const RunOptions& options) {
  if (!options.dump.empty() && options.folder.empty())
    throw UsageError("--dump writes files: name a folder with -o");
  if (!options.trace.empty()) check_output(options.trace, files_read(options));
  if (has_folder(options.inputs)) return run_folder(options);
  run_once(options);
}

/// Adds the option --pipeline, and those that need it.
CLI::Option* add_pipeline_options(CLI::App& command, RunOptions& options) {
  CLI::Option* pipeline =
      command
          .add_option(
              "--pipeline", options.pipeline,
              "Run stages at the same time, on --runs frames: those of a file, or without one those that "
              "the program was compiled with (docs/pipelines.md)")
          ->expected(0, 1)
          ->type_name("[PIPELINE.json]")
          ->group(help_group::pipelines);
  command
      .add_option("--rate", options.rate,
                  "With --pipeline: push so many frames a second, as a camera does, and not as fast as they "
                  "are taken")
      ->needs(pipeline)
      ->check(CLI::PositiveNumber)
      ->type_name("FPS")
      ->group(help_group::pipelines);
  command.add_option("--html", options.html, "With --pipeline: write a page with the stages over time")
      ->needs(pipeline)
      ->type_name("PAGE.html")
      ->group(help_group::pipelines);
  return pipeline;
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a program, or a model, which is compiled first");
  auto options = std::make_shared<RunOptions>();
  CLI::Option* path =
      command->add_option("path", options->path, "A program, or a model, which is compiled first")
          ->type_name("MODEL|PROGRAM");
  CLI::Option* input = add_input_option(*command, options->inputs)->type_name("[NAME=]FILE|FOLDER");
  input->description(input->get_description() +
                     ". Of a FOLDER each file is the input of a run; with --pipeline of a frame, and so is "
                     "each row of a .npy stack");
  command
      ->add_option(
          "-o,--output", options->folder,
          "Write each output there as a .npy file; for a folder or stack of inputs into a folder for each")
      ->type_name("FOLDER");
  command->add_option("--function", options->function, "Which function (default: the only one)")
      ->type_name("NAME");
  command
      ->add_option("--runs", options->runs,
                   "Run this often after a first time to warm up; the reported time is the median")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  add_profile_options(*command, options->profile);
  command->add_option("--trace", options->trace, "Write what ran when, for ui.perfetto.dev")
      ->type_name("TRACE.json")
      ->group(help_group::insight);
  command->add_option("--dump", options->dump, "Also write values passed between regions whose name matches")
      ->type_name("GLOB")
      ->group(help_group::insight);
  CLI::Option* bind = command->add_option("--bind", options->bindings, "Put a slot on a device of its kind")
                          ->type_name("SLOT=DEVICE")
                          ->allow_extra_args(false);
  CLI::Option* pipeline = add_pipeline_options(*command, *options);
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->compile);
  describe_shape_of_program(*command, "; with --pipeline of every input of another shape");
  for (const char* other : {"--threads", "--dump", "--profile"}) pipeline->excludes(other);
  pipeline->excludes(bind);
  command->footer(
      "Examples:\n"
      "  intarsia run resnet.so\n"
      "  intarsia run resnet.onnx -i cat.jpg --resize\n"
      "  intarsia run resnet.so -i image=cat.npy -o results --json\n"
      "  intarsia run resnet.so -i pictures --resize -o results\n"
      "  intarsia run resnet.so -i cat.jpg --resize --mean 127.5 --scale 127.5\n"
      "  intarsia run net.so --bind accel=sim:1 --dump '*' -o values\n"
      "  intarsia run net.so --shape ids=4x77 --runs 20 --trace net.json\n"
      "  intarsia run net.so --profile\n"
      "  intarsia run net.so --pipeline --runs 1000\n"
      "  intarsia run --pipeline camera.json --runs 1000\n"
      "  intarsia run --pipeline camera.json -i pictures --rate 30 -o results\n\n"
      "A program has the threads that it was compiled for, at most one for each core of this process, unless "
      "--threads says otherwise.");
  command->callback([options, command, path, pipeline] {
    if (path->count() == 0 && options->pipeline.empty())
      throw UsageError("want a program or model, or --pipeline PIPELINE.json");
    if (path->count() > 0 && !options->pipeline.empty())
      throw UsageError("--pipeline " + options->pipeline + " names its programs: leave out " + options->path);
    if (!is_model_to_run(options->path)) refuse_compile_options(*command, {"--threads", "--shape"});
    if (pipeline->count() == 0) return run(*options);
    const std::optional<Runnable> runnable =
        options->path.empty() ? std::nullopt : std::make_optional<Runnable>(*options);
    run_pipeline({options->pipeline, runnable ? runnable->program() : "", options->path, options->function,
                  options->folder, options->trace, options->html, options->inputs, shapes_to_run_at(*options),
                  options->runs, options->rate, options->json, options->verbosity == Verbosity::quiet});
  });
}
