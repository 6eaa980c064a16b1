// intarsia run
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <intarsia/intarsia.hpp>
#include <memory>
#include <optional>

#include "commands.h"
#include "files.h"
#include "inputs.h"
#include "outputs.h"
#include "plugins.h"
#include "print.h"
#include "profile.h"
#include "run_pipeline.h"
#include "trace.h"
#include "wrap_text.h"

namespace {

struct RunOptions {
  std::string program, function, folder, dump, trace;
  std::string pipeline, html;  // files
  InputOptions inputs;
  std::vector<std::string> bindings;
  int threads = 0, runs = 0;  // 0: one
  ProfileOptions profile;
  bool json = false;
};

/// A program, bound, with the inputs of one run.
class Run {
 public:
  explicit Run(const RunOptions& options)
      : program_(intarsia::Program::load(options.program)),
        function_(find_function(options)),
        session_(program_.bind(bindings(options), options.threads)),
        inputs_(function_.inputs, options.inputs) {}
  ~Run() { release_outputs(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Wall time in milliseconds.
  double run() {
    release_outputs();
    const intarsia::View made_by_the_run;
    for (const intarsia::Argument& output : function_.outputs)
      outputs_.push_back(intarsia::detail::tensor(output.name, made_by_the_run));
    const auto start = std::chrono::steady_clock::now();
    intarsia::detail::check(intarsia_session_run(session_.get(), function_.name.c_str(),
                                                 inputs_.tensors().data(), inputs_.tensors().size(),
                                                 outputs_.data(), outputs_.size()));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  intarsia::Profile profile(size_t runs) {
    intarsia_profile* made = nullptr;
    intarsia::detail::check(intarsia_session_profile(session_.get(), function_.name.c_str(),
                                                     inputs_.tensors().data(), inputs_.tensors().size(), runs,
                                                     &made));
    return intarsia::detail::take_profile(made);
  }

  const intarsia::Function& function() const { return function_; }
  intarsia::Alternative alternative() const {
    const std::vector<intarsia::Function> all = program_.functions();
    size_t number = 0;
    while (all.at(number).name != function_.name) ++number;
    return session_.alternative(number);
  }
  intarsia::Session& session() { return session_; }
  const std::vector<intarsia_tensor>& outputs() const { return outputs_; }
  const Json& input_notes() const { return inputs_.notes(); }

 private:
  void release_outputs() {
    for (intarsia_tensor& output : outputs_) intarsia_tensor_release(&output);
    outputs_.clear();
  }

  intarsia::Function find_function(const RunOptions& options) const {
    std::vector<std::string> names;
    for (const intarsia::Function& function : program_.functions()) {
      if (function.name == options.function) return function;
      names.push_back(function.name);
    }
    if (options.function.empty() && names.size() == 1) return program_.functions()[0];
    throw UsageError(fmt::format("--function {}: want one of {}", options.function, fmt::join(names, ", ")));
  }

  static std::vector<intarsia::Binding> bindings(const RunOptions& options) {
    std::vector<intarsia::Binding> list;
    for (const std::string& text : options.bindings) {
      const size_t at = text.find('=');
      if (at == std::string::npos || at == 0 || at + 1 == text.size())
        throw UsageError("--bind " + text + ": want SLOT=DEVICE, as in accel=sim:0");
      list.emplace_back(text.substr(0, at), text.substr(at + 1));
    }
    return list;
  }

  intarsia::Program program_;
  intarsia::Function function_;
  intarsia::Session session_;
  InputValues inputs_;
  std::vector<intarsia_tensor> outputs_;
};

/// Writes the values between regions whose name matches.
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
    } catch (const std::exception& failure) {  // must not pass through C
      dump.error = failure.what();
    }
  }
};

void print_run(const RunOptions& options, const Json& report, const std::vector<intarsia_tensor>& outputs) {
  std::string text;
  for (const Json& input : report["inputs"]) text += print_input(input);
  for (size_t i = 0; i < outputs.size(); ++i) text += print_output(report["outputs"][i], outputs[i]);
  text += print_alternative(report["alternative"]);
  for (const Json& value : report["dumped"])
    text += fmt::format("dumped {}\n", value["file"].get<std::string>());
  if (!options.trace.empty()) text += fmt::format("trace  {}\n", options.trace);
  text +=
      fmt::format("{}: {:.3f} ms{}\n", options.program, report["milliseconds"].get<double>(),
                  options.runs > 1 ? fmt::format(", the median of {} runs after one to warm up", options.runs)
                                   : ", the first run, cold (--runs 20 shows more)");
  if (!report["profile"].is_null())
    text += print_profile(report["profile"], options.profile.all_rows, output_width());
  print_text(text, 7);
}

void run(const RunOptions& options) {
  if (!options.dump.empty() && options.folder.empty())
    throw UsageError("--dump writes files: name a folder with -o");
  std::vector<std::string> inputs{options.program};
  for (const std::string& file : input_files(options.inputs)) inputs.push_back(file);
  if (!options.trace.empty()) check_output(options.trace, inputs);
  Run run(options);
  if (options.runs > 1) run.run();  // memory and caches are filled by the first
  Dump dump{options.dump, OutputWriter(options.folder, inputs), Json::array(), {}, {}};
  if (!options.dump.empty())
    intarsia::detail::check(intarsia_session_set_dump(run.session().get(), Dump::call, &dump));
  std::optional<Trace> trace;
  if (!options.trace.empty()) trace.emplace(run.session().get());
  std::vector<double> milliseconds;
  for (int i = 0; i < std::max(options.runs, 1); ++i) milliseconds.push_back(run.run());
  if (trace) trace->write(options.trace);
  trace.reset();
  intarsia::detail::check(intarsia_session_set_dump(run.session().get(), nullptr, nullptr));
  if (!dump.error.empty()) throw intarsia::Error(dump.error);
  if (!options.dump.empty() && dump.written.empty()) {
    throw UsageError(fmt::format("--dump {}: no value between regions has such a name; there are: {}",
                                 options.dump, fmt::join(dump.seen, ", ")));
  }
  Json report{{"program", options.program},
              {"function", run.function().name},
              {"inputs", run.input_notes()},
              {"outputs", Json::array()}};
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
    print_run(options, report, run.outputs());
  }
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a program");
  auto options = std::make_shared<RunOptions>();
  CLI::Option* program =
      command->add_option("program", options->program, "The program")->type_name("PROGRAM.so");
  command->add_option("--function", options->function, "Which function (default: the only one)")
      ->type_name("NAME");
  add_input_option(*command, options->inputs);
  command->add_option("-o,--output", options->folder, "Write each output there as a .npy file")
      ->type_name("FOLDER");
  command->add_option("--bind", options->bindings, "Put a slot on a device of its kind")
      ->type_name("SLOT=DEVICE")
      ->allow_extra_args(false);
  add_plugin_option(*command);
  command->add_option("--threads", options->threads, "Threads (default: as compiled)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_option("--dump", options->dump, "Also write values passed between regions whose name matches")
      ->type_name("GLOB");
  command
      ->add_option("--runs", options->runs,
                   "Run this often after a first time to warm up; the reported time is the median")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command->add_option("--trace", options->trace, "Write what ran when, for ui.perfetto.dev")
      ->type_name("TRACE.json");
  add_profile_options(*command, options->profile);
  CLI::Option* pipeline =
      command
          ->add_option(
              "--pipeline", options->pipeline,
              "Run stages at the same time, on --runs frames: those of a file, or without one those that "
              "the program was compiled with (docs/pipelines.md)")
          ->expected(0, 1)
          ->type_name("[PIPELINE.json]");
  for (const char* other : {"--bind", "--threads", "--dump", "--profile"}) pipeline->excludes(other);
  command->add_option("--html", options->html, "With --pipeline: write a page with the stages over time")
      ->needs(pipeline)
      ->type_name("PAGE.html");
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  command->footer(
      "Examples:\n"
      "  intarsia run resnet.so\n"
      "  intarsia run resnet.so -i image=cat.npy -o results --json\n"
      "  intarsia run resnet.so -i cat.jpg --resize --mean 127.5 --scale 127.5\n"
      "  intarsia run net.so --bind accel=sim:1 --dump '*' -o values\n"
      "  intarsia run net.so --runs 20 --trace net.json\n"
      "  intarsia run net.so --profile\n"
      "  intarsia run net.so --pipeline --runs 1000\n"
      "  intarsia run --pipeline camera.json --runs 1000");
  command->callback([options, program, pipeline] {
    if (program->count() == 0 && options->pipeline.empty())
      throw UsageError("want a program, or --pipeline PIPELINE.json");
    if (program->count() > 0 && !options->pipeline.empty())
      throw UsageError("--pipeline " + options->pipeline + " names its programs: leave out " +
                       options->program);
    if (pipeline->count() == 0) return run(*options);
    run_pipeline({options->pipeline, options->program, options->function, options->folder, options->trace,
                  options->html, options->inputs, options->runs, options->json});
  });
}
