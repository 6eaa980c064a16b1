// intarsia compile
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <intarsia/intarsia_compile.hpp>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/compile_details.h"
#include "cli/commands/region_summary.h"
#include "cli/inputs/model_inputs.h"
#include "cli/system/interrupt.h"
#include "cli/text/print.h"
#include "cli/text/progress.h"
#include "cli/text/wrap_text.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/help.h"
#include "cli/usage/usage_error.h"

namespace {

struct CompileOptions {
  std::string model, program;
  std::string functions;  // library with Halide generators, and names: "LIB.so:NAME,..."
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  InputOptions inputs;  // inputs that the error of rounded products is measured with
  intarsia::CompileOptions compile;
};

std::string print_ms(const Json& time) {
  return time.is_null() ? "?" : fmt::format("{:.3g} ms", time.get<double>());
}

/// Formats the shipped plan: "2 regions dissolved: 0.81 ms (as placed 1.2 ms, all in onnxruntime 0.9 ms)".
std::string print_plan(const Json& report) {
  const Json& plan = report["plan"];
  if (!plan["disabled_reason"].is_null())
    return fmt::format("as placed, not compared with others: {}", plan["disabled_reason"].get<std::string>());
  const std::string shipped = plan["shipped"];
  std::string text = shipped == "as_placed"   ? "as placed"
                     : shipped == "mixed"     ? "mixed"
                     : shipped == "dissolved" ? count_of(plan["dissolved_regions"], "region") + " dissolved"
                                              : "all in " + plan["backend"].get<std::string>();
  std::string others = shipped == "as_placed" ? "" : "as placed " + print_ms(plan["as_placed_ms"]);
  for (const auto& [backend, time] : report["single_backend_ms"].items()) {
    if (plan["backend"] != backend)
      others += fmt::format("{}all in {} {:.3g} ms", others.empty() ? "" : ", ", backend, time.get<double>());
  }
  text += ": " + print_ms(report["measured_ms"]);
  return others.empty() ? text : fmt::format("{} ({})", text, others);
}

std::string join(const Json& texts) {
  std::string joined;
  for (const Json& text : texts) joined += (joined.empty() ? "" : ", ") + text.get<std::string>();
  return joined;
}

/// Formats the time that each stage takes per frame, and the reasons for these stages.
std::string print_stages(const Json& report) {
  std::string text;
  size_t number = 0;
  for (const Json& stage : report["stages"])
    text += fmt::format("  stage {:<3} {}: {}, predicted {}, measured {}\n", number++,
                        join(stage["executors"]), count_of(stage["regions"].size(), "region"),
                        print_ms(stage["predicted_ms"]), print_ms(stage["measured_ms"]));
  const Json& throughput = report["throughput"];
  if (throughput.is_null()) return text;
  text +=
      fmt::format("  pipeline  {}: a frame every {}, measured {}", throughput["chosen"].get<std::string>(),
                  print_ms(throughput["predicted_ms"]), print_ms(throughput["measured_ms"]));
  if (!throughput["bound_ms"].is_null()) {
    const double bound = throughput["bound_ms"], predicted = throughput["predicted_ms"].is_null()
                                                                 ? bound
                                                                 : throughput["predicted_ms"].get<double>();
    text += fmt::format("; none takes less than {:.3g} ms (gap {:.1f}%)", bound,
                        bound > 0 ? 100 * std::max(predicted / bound - 1, 0.0) : 0.0);
  }
  if (throughput["nudged"].get<int>() > 0) text += "; cuts were moved to where timed stages are equal";
  text += "\n";
  for (const Json& other : throughput["compared"])
    text += fmt::format("  compared  {}: a frame every {}\n", other["name"].get<std::string>(),
                        print_ms(other["predicted_ms"]));
  if (!throughput["guessed_reason"].is_null())
    text += fmt::format("  note      times of parts are estimates: {}\n",
                        throughput["guessed_reason"].get<std::string>());
  return text;
}

/// Formats the memory use of a slot whose memory has a limit.
std::string print_memory(const Json& slot) {
  const Json& memory = slot["memory"];
  if (memory["limit_bytes"].is_null() || memory["arena_bytes"].is_null()) return "";
  return fmt::format("  memory    {}: constants {}, working memory {}, at most {}\n",
                     slot["name"].get<std::string>(), print_bytes(memory["constants_bytes"]),
                     print_bytes(memory["arena_bytes"]), print_bytes(memory["limit_bytes"]));
}

/// Formats the cost of a missing library, as far as known: ": 39.2 times slower; reference is an interpreter,
/// and slow".
std::string compare_alternative(const Json& other, const Json& preferred_ms) {
  const Json& time = other["measured_ms"];
  const bool is_known = !time.is_null() && !preferred_ms.is_null() && preferred_ms.get<double>() > 0;
  const double ratio = is_known ? time.get<double>() / preferred_ms.get<double>() : 0;
  std::string text;
  if (ratio >= 1.05) text = fmt::format(": {:.3g} times slower", ratio);
  if (other["targets"].get<std::string>().find("reference@") != std::string::npos)
    text += "; reference is an interpreter, and slow";
  return text;
}

/// Formats a note on a plan that is faster than the one that ships.
std::string print_passed_over(const Json& plan) {
  if (plan.is_null() || plan["passed_over"].is_null()) return "";
  const Json& other = plan["passed_over"];
  return fmt::format("  note      {} took {}, too little less to need a library: --prefer fastest takes it\n",
                     other["backends"].get<std::string>(), print_ms(other["ms"]));
}

/// Formats the range of a size: "1 to 32".
std::string print_range(const Json& size) {
  constexpr int64_t limit = 1'000'000'000;  // greatest size of an axis (docs/json.md)
  const int64_t min = size["min"].get<int64_t>(), max = size["max"].get<int64_t>();
  if (max < limit) return fmt::format("{} to {}", min, max);
  return min > 0 ? fmt::format("{} or more", min) : "any size";
}

/// Formats a size that stays open, and the one that plans are measured with.
std::string print_open_size(const Json& size) {
  const Json& tuned = size["tuned"];
  const int64_t first =
      tuned.empty() ? std::max<int64_t>(size["min"].get<int64_t>(), 1) : tuned[0].get<int64_t>();
  return fmt::format("  open      {}: {}, measured at {}\n", size["symbol"].get<std::string>(),
                     print_range(size), first);
}

/// Formats a plan for a range of sizes.
std::string print_specialization(const Json& other) {
  Json sizes = Json::array();
  for (const auto& [name, size] : other["measured_at"].items())
    sizes.push_back(fmt::format("{} = {}", name, size.get<int64_t>()));
  return fmt::format("  instead   {}, where {} is {}: {} with {}\n", other["targets"].get<std::string>(),
                     other["symbol"].get<std::string>(), print_range(other), print_ms(other["measured_ms"]),
                     join(sizes));
}

/// Formats what one function takes, returns, and runs on. `explained`: see region_summary.h.
std::string print_function(const Json& report, const std::string& explained, bool is_verbose) {
  std::string text;
  for (const Json& port : report["inputs"])
    text += fmt::format("  input     {}: {}\n", port["name"].get<std::string>(), print_type(port));
  for (const Json& port : report["outputs"])
    text += fmt::format("  output    {}: {}\n", port["name"].get<std::string>(), print_type(port));
  for (const Json& device : report["devices"]) {
    if (device["why_not"].is_null() || report["kernels"].is_null()) continue;
    text += fmt::format("  not used  {}: {}\n", device["device"].get<std::string>(),
                        device["why_not"].get<std::string>());
  }
  for (const Json& size : report["open_sizes"]) text += print_open_size(size);
  for (const Json& symbol : report["symbols"]) {
    if (!symbol["by_default"].get<bool>()) continue;
    const std::string name = symbol["symbol"].get<std::string>();
    const int64_t value = symbol["value"].get<int64_t>();
    text += symbol["pinned_by"].is_null()
                ? fmt::format("  note      the size '{}' is open and became {}; set it with --shape\n", name,
                              value)
                : fmt::format("  note      the size '{}' became {}: node '{}' works with no other\n", name,
                              value, symbol["pinned_by"].get<std::string>());
  }
  for (const Json& slot : report["slots"]) text += print_memory(slot);
  text += print_regions(report, explained, is_verbose) + print_copies(report);
  if (!report["plan"].is_null() && !report["kernels"].is_null() && report["throughput"].is_null())
    text += fmt::format("  plan      {}\n", print_plan(report));
  if (!report["plan"].is_null()) {
    for (const auto& [runner, why] : report["plan"]["faults"].items())
      text += fmt::format("  left out  {}: {}\n", runner, why.get<std::string>());
  }
  for (const Json& region : report["refused_regions"])
    text += fmt::format("  refused   {} of {} on {} from '{}': {}\n", region["left_out"].get<size_t>(),
                        count_of(region["nodes"].get<size_t>(), "node"), region["target"].get<std::string>(),
                        region["first"].get<std::string>(), region["why"].get<std::string>());
  for (const Json& note : report["notes"]) text += fmt::format("  note      {}\n", note.get<std::string>());
  text += print_passed_over(report["plan"]) + print_stages(report);
  for (const Json& other : report["alternatives"]) {
    const Json& time = other["measured_ms"];
    text += fmt::format("  otherwise {}{}, where a library or device of the plan is missing{}\n",
                        other["targets"].get<std::string>(),
                        time.is_null() ? "" : fmt::format(": {:.3g} ms", time.get<double>()),
                        compare_alternative(other, report["measured_ms"]));
  }
  for (const Json& other : report["specializations"]) text += print_specialization(other);
  if (is_verbose) text += print_details(report);
  return text;
}

/// Formats the CPUs that the program has a variant for; all else that is printed is about the one taken here.
std::string print_variants(const Json& variants) {
  std::vector<std::string> texts;
  for (const Json& variant : variants)
    texts.push_back(variant["cpu"].get<std::string>() + (variant["taken"].get<bool>()       ? " (taken here)"
                                                         : variant["runs_here"].get<bool>() ? ""
                                                                                            : " (not here)"));
  return fmt::format("  CPUs      {}\n", fmt::join(texts, ", "));
}

/// Formats the precision of products, and the error of rounding their factors.
std::string print_precision(const Json& products) {
  const std::string precision = products["precision"];
  if (products["error"].is_null())
    return fmt::format(
        "  precision {}{}\n", precision,
        products["why_not"].is_null() ? "" : fmt::format(": {}", products["why_not"].get<std::string>()));
  const std::string error =
      fmt::format("'{}' differs from that in f32 by {:.2g} of its largest element",
                  products["output"].get<std::string>(), products["error"].get<double>());
  if (precision != "f32") return fmt::format("  precision {}: {}\n", precision, error);
  return fmt::format("  precision f32: in {} {}, more than {}\n", products["tried"].get<std::string>(), error,
                     products["max_error"].get<double>());
}

/// Formats whose times chose kernels: "chosen by times of cortex-a72, imported 2026-11-29, of 36 variants".
std::string print_imported(const Json& tuning) {
  const auto at = static_cast<std::time_t>(tuning["imported"]["at"].get<int64_t>() / 1000);
  const int untimed = tuning["untimed"].get<int>();
  return fmt::format(
      "  kernels   chosen by times of {}, imported {:%Y-%m-%d}, of {} variants{}\n",
      tuning["imported"]["cpu"].get<std::string>(), fmt::gmtime(at), tuning["remembered"].get<int>(),
      untimed == 0 ? "" : fmt::format("; {} {} no time", untimed, untimed == 1 ? "has" : "have"));
}

/// Formats what plain C takes of a machine.
std::string print_plain_c(const Json& emission) {
  const Json &flash = emission["flash_bytes"], &ram = emission["ram_bytes"],
             &kernel = emission["largest_kernel"];
  std::string text = fmt::format(
      "  plain C   code {}, constants {}, working memory {}{}\n",
      print_bytes(flash["code"].get<uint64_t>() + flash["data"].get<uint64_t>()),
      print_bytes(flash["constants"]), print_bytes(ram["arena"]),
      ram["stack"].is_null() ? "" : fmt::format(", stack of a kernel {}", print_bytes(ram["stack"])));
  if (kernel["bytes"] > 0)
    text += fmt::format("  largest   kernel: {}, {}\n", print_bytes(kernel["bytes"]),
                        kernel["name"].get<std::string>());
  return text;
}

void print_compile_report(const Json& report, bool is_verbose) {
  const bool stopped = report["kernels"].is_null();
  const bool is_written = !report["program"].is_null();
  const std::string model = report["model"];
  const std::string explained = is_written ? report["program"].get<std::string>() : model;
  fmt::print("{}\n", is_written ? model + " -> " + explained : model + ": no program was written");
  std::string text;
  if (report.contains("functions")) {
    for (const Json& function : report["functions"])
      text += fmt::format("function {}\n{}", function["function"].get<std::string>(),
                          print_function(function, explained, is_verbose));
  } else {
    text += print_function(report, explained, is_verbose);
  }
  if (!stopped) {
    text += fmt::format("  runs      on {}\n", count_of(report["threads"].get<size_t>(), "thread"));
    text += fmt::format("  constants {} (of the model: {}), working memory {}\n",
                        print_bytes(report["constants_bytes"]), print_bytes(report["model_weights_bytes"]),
                        print_bytes(report["arena_bytes"]));
  }
  if (!report["size"].is_null())
    text += fmt::format("  size      {}\n", report["size"]["text"].get<std::string>());
  if (!report["plain_c"].is_null()) text += print_plain_c(report["plain_c"]);
  if (!report["variants"].is_null()) text += print_variants(report["variants"]);
  if (!report["products"].is_null()) text += print_precision(report["products"]);
  const Json& tuning = report["tuning"];
  if (!stopped && !tuning["disabled_reason"].is_null())
    text += fmt::format("  kernels   chosen by formula: {}\n", tuning["disabled_reason"].get<std::string>());
  else if (!tuning["imported"].is_null())
    text += print_imported(tuning);
  else if (tuning["measured"].get<int>() + tuning["remembered"].get<int>() > 0)
    text += fmt::format("  kernels   chosen by the times of {} variants, {} of them measured now\n",
                        tuning["measured"].get<int>() + tuning["remembered"].get<int>(),
                        tuning["measured"].get<int>());
  for (const Json& kernel : report["code_generation"]["given_up"])
    text += fmt::format("  warning   computed another way: {}\n", kernel.get<std::string>());
  const bool is_unsure = !report["plan"].is_null() && report["plan"]["unsure"].get<bool>();
  if (is_unsure || tuning["disturbed"].get<int>() + tuning["disturbed_boundaries"].get<int>() > 0)
    text +=
        "  warning   this machine is busy: times may be off and are not kept; compile again when it is "
        "idle\n";
  if (!tuning["warning"].is_null())
    text += fmt::format("  warning   {}\n", tuning["warning"].get<std::string>());
  text += fmt::format("  took      {:.2f} s\n", report["compile_seconds"].get<double>());
  print_text(text, 12);
}

/// Splits at commas.
std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// Compiles the generators that --functions names.
void compile_functions(const CompileOptions& options) {
  if (options.program.empty()) throw UsageError("--functions: name the program to write with -o");
  const size_t colon = options.functions.rfind(".so:");
  const bool has_names = colon != std::string::npos;
  const std::string library = has_names ? options.functions.substr(0, colon + 3) : options.functions;
  const auto names = split_names(has_names ? options.functions.substr(colon + 4) : "");
  intarsia::Compiler::get().export_generators(library, names, options.program, options.compile);
  if (options.verbosity == Verbosity::quiet && !options.json) return;
  std::string text;
  Json report = {{"library", library}, {"program", options.program}, {"functions", Json::array()}};
  for (const intarsia::Function& function : intarsia::Program::load(options.program).functions()) {
    text += fmt::format("  {}\n", function.name);
    report["functions"].push_back(function.name);
  }
  if (options.json) {
    std::printf("%s\n", report.dump().c_str());
  } else {
    fmt::print("{} -> {}\n{}", library, options.program, text);
  }
}

/// Returns a program here, or for plain C a folder here, with the model's name.
std::string default_output(const CompileOptions& options) {
  const std::filesystem::path name = std::filesystem::path(options.model).filename().stem();
  return options.compile.emit == intarsia::Emit::c ? (name / name).string() : name.string() + ".so";
}

void compile(CompileOptions& options) {
  if (!options.functions.empty()) {
    compile_functions(options);
    return;
  }
  if (options.program.empty()) options.program = default_output(options);
  const GivenInputs given = read_given_inputs(options.inputs, options.model, options.compile);
  options.compile.inputs = given.views;
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  options.compile.progress = [&](const std::string& phase, int done, int total) {
    display->show(phase, static_cast<double>(done) / total);
  };
  // Standard output holds only the JSON object, if there is one.
  options.compile.print = [&](const std::string& text) {
    display->clear();
    std::fputs(text.c_str(), options.json ? stderr : stdout);
  };
  const InterruptGuard guard(options.compile);
  const std::string report =
      intarsia::Compiler::get().compile(options.model, options.program, options.compile);
  display.reset();
  if (options.json) {
    std::printf("%s\n", report.c_str());
  } else if (options.verbosity != Verbosity::quiet) {
    print_compile_report(Json::parse(report), options.verbosity == Verbosity::verbose);
  }
}

}  // namespace

void add_compile_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compile", "Compile a model to a program");
  auto options = std::make_shared<CompileOptions>();
  CLI::Option* model =
      command
          ->add_option("model", options->model,
                       "The model: an ONNX file, a frozen GraphDef (.pb), a SavedModel folder")
          ->type_name("MODEL");
  command
      ->add_option(
          "-o,--output", options->program,
          "The program to write, or with --emit c a folder and a name, as out/net (default: the model's name "
          "with .so, here)")
      ->type_name("PROGRAM.so");
  CLI::Option* functions =
      command
          ->add_option(
              "--functions", options->functions,
              "In place of a model: a library that registers Halide generators, and which of them, each "
              "with values of its parameters (LIB.so:blur/tile=32,addone), of one name the fastest; "
              "all if none is named")
          ->type_name("LIB.so[:NAME,...]")
          ->excludes(model);
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->compile);
  add_input_option(*command, options->inputs);
  command->add_option("--save-plan", options->compile.save_plan, "Write where each node runs (docs/plans.md)")
      ->type_name("PLAN.json")
      ->group(help_group::placement);
  command
      ->add_flag("--strip-names", options->compile.strip_names,
                 "Leave the names of the model's nodes out of the program")
      ->group(help_group::code);
  add_choice(*command, "--emit", options->compile.emit,
             "so: a program; c: plain C, which needs the C library alone (docs/emit_c.md) (default: so)")
      ->group(help_group::plain_c);
  add_choice(
      *command, "--constants", options->compile.constants,
      "Where plain C has the weights: in an object to link, in a file to map or load, or in a source file "
      "(default: object)")
      ->group(help_group::plain_c);
  command
      ->add_option("--c-name", options->compile.c_names,
                   "Identifier of plain C for an input, output, size or function of the model")
      ->type_name("NAME=IDENTIFIER")
      ->allow_extra_args(false)
      ->group(help_group::plain_c);
  command->add_flag("--dry-run", options->compile.dry_run, "Do everything except writing the program")
      ->group(help_group::insight);
  command
      ->add_option("--print-after", options->compile.print_after,
                   "Print the result of the pass, or of a backend's step as in halide.fuse")
      ->type_name("PASS")
      ->allow_extra_args(false)
      ->group(help_group::insight);
  command->add_option("--stop-after", options->compile.stop_after, "Stop after the pass, without a program")
      ->type_name("PASS")
      ->group(help_group::insight);
  command->footer(
      "Examples:\n"
      "  intarsia compile resnet.onnx -o resnet.so --threads 2\n"
      "  intarsia compile bert.onnx --shape ids=1x128 --shape mask=1x128\n"
      "  intarsia compile net.onnx -d cpu,accel=sim:0 --pin 'conv*=reference@accel'\n"
      "  intarsia compile net.onnx -d accel=sim:0,cpu --memory accel=64MB\n"
      "  intarsia compile net.onnx -d cpu:0,cpu:1 --objective throughput\n"
      "  intarsia compile net.onnx --emit c --arch aarch64 -o out/net\n"
      "  intarsia compile net.onnx --dry-run --print-after place_nodes\n\n"
      "An unknown PASS gives the list of passes.");
  command->callback([options, model, functions] {
    if (model->count() + functions->count() == 0) throw CLI::RequiredError("model");
    compile(*options);
  });
}
