// intarsia check
#include <fmt/format.h>

#include <limits>
#include <list>
#include <memory>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/inputs/given_shapes.h"
#include "cli/inputs/inputs.h"
#include "cli/inputs/model_inputs.h"
#include "cli/inputs/npy.h"
#include "cli/results/outputs.h"
#include "cli/system/interrupt.h"
#include "cli/text/print.h"
#include "cli/text/progress.h"
#include "cli/text/wrap_text.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/usage_error.h"

namespace {

struct CheckOptions {
  std::string path;
  InputOptions inputs;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CheckOptions check;
};

std::string print_number(const Json& number) {
  return number.is_null() ? "-" : fmt::format("{:.3g}", number.get<double>());
}

/// Formats the name of a checked plan: "alternative 1 on halide@cpu".
std::string name_checked_plan(const Json& plan) {
  const int number = plan["number"];
  const std::string which = number == 0 ? "the preferred plan" : fmt::format("alternative {}", number);
  return fmt::format("{} on {}", which, plan["targets"].get<std::string>());
}

/// Formats the heading over a plan's outputs.
std::string print_checked_plan(const Json& plan) {
  const Json& reason = plan["reason"];
  return fmt::format("  {}{}\n", name_checked_plan(plan),
                     reason.is_null() ? "" : ": not checked, " + reason.get<std::string>());
}

/// Formats the allowed difference of an output, and how far its own framework changes it when its inputs
/// hardly change.
std::string print_tolerance(const Json& report) {
  std::string text = fmt::format("  allowed {:.3g} + {:.3g} of the largest\n", report["atol"].get<double>(),
                                 report["rtol"].get<double>());
  for (const Json& output : report["outputs"]) {
    const Json& change = output["sensitivity"];
    if (!change.is_null())
      text += fmt::format("  output {} changes by {} ({} of the largest) where inputs change by 1e-6\n",
                          output["name"].get<std::string>(), print_number(change["max_abs"]),
                          print_number(change["max_rel"]));
  }
  return text;
}

/// Returns the output that differs most, one that is not ok first; null if there is none.
const Json* find_worst_output(const Json& plans) {
  const auto rank = [](const Json& output) {
    const double most = std::numeric_limits<double>::infinity();
    return std::pair(!output["ok"].get<bool>(),
                     output["max_rel"].is_null() ? most : output["max_rel"].get<double>());
  };
  const Json* worst = nullptr;
  for (const Json& plan : plans)
    for (const Json& output : plan["outputs"])
      if (worst == nullptr || rank(output) > rank(*worst)) worst = &output;
  return worst;
}

/// Formats a line for the comparison at one combination of open sizes.
std::string print_checked_sizes(const Json& entry) {
  const std::string where = "  with " + print_sizes(entry["sizes"]) + ": ";
  if (entry["ok"].is_null())
    return fmt::format("{}not compared: {}\n", where, entry["reason"].get<std::string>());
  for (const Json& plan : entry["plans"])
    if (!plan["reason"].is_null())
      return fmt::format("{}NOT OK: {}\n", where, plan["reason"].get<std::string>());
  const Json* worst = find_worst_output(entry["plans"]);
  if (worst == nullptr) return where + "ok\n";
  const Json& why = (*worst)["why"];
  if (!why.is_null())
    return fmt::format("{}NOT OK: output {}: {}\n", where, (*worst)["name"].get<std::string>(),
                       why.get<std::string>());
  return fmt::format("{}ok, differs by at most {} of the largest\n", where,
                     print_number((*worst)["max_rel"]));
}

void print_report(const Json& report, Verbosity verbosity) {
  if (verbosity == Verbosity::quiet) return;
  const bool is_verbose = verbosity == Verbosity::verbose;
  std::string text = fmt::format("{} against {} on {}, on {}\n", report["subject"].get<std::string>(),
                                 report["against"].get<std::string>(), report["model"].get<std::string>(),
                                 count_of(report["threads"].get<size_t>(), "thread"));
  for (const Json& input : report["inputs"]) text += "  " + print_input(input);
  for (const Json& plan : report["plans"]) {
    if (report["plans"].size() > 1 || is_verbose) text += print_checked_plan(plan);
    for (const Json& output : plan["outputs"]) {
      text += fmt::format("  output {}: {}, differs by at most {} ({} of the largest){}\n",
                          output["name"].get<std::string>(), output["ok"].get<bool>() ? "ok" : "NOT OK",
                          print_number(output["max_abs"]), print_number(output["max_rel"]),
                          output["why"].is_null() ? "" : ": " + output["why"].get<std::string>());
    }
  }
  for (size_t i = 1; i < report["sizes"].size(); ++i) text += print_checked_sizes(report["sizes"][i]);
  if (is_verbose) text += print_tolerance(report);
  if (!report["first_bad_node"].is_null())
    text += fmt::format("  first bad node: {}\n", report["first_bad_node"].get<std::string>());
  for (const Json& warning : report["warnings"])
    text += fmt::format("  warning: {}\n", warning.get<std::string>());
  print_text(text, 9);
}

/// Throws an error for the first of the plans' outputs that is wrong. `at`: what is before the plan's name.
void throw_mismatch_of(const Json& report, const Json& plans, const std::string& at) {
  const std::string subject = report["subject"].get<std::string>();
  const std::string against = report["against"].get<std::string>();
  for (const Json& plan : plans) {
    const std::string where = at + (plan["number"] == 0 ? "" : name_checked_plan(plan) + ": ");
    for (const Json& output : plan["outputs"]) {
      if (output["ok"].get<bool>()) continue;
      throw intarsia::Error(fmt::format("{}: {}output '{}' differs from that of {}: {}", subject, where,
                                        output["name"].get<std::string>(), against,
                                        output["why"].get<std::string>()));
    }
    if (plan["ok"] == false)
      throw intarsia::Error(fmt::format("{}: {}it does not run, which {} does: {}", subject, where, against,
                                        plan["reason"].get<std::string>()));
  }
}

/// Throws an error for the first output that is wrong.
void throw_mismatch(const Json& report) {
  throw_mismatch_of(report, report["plans"], "");
  for (const Json& entry : report["sizes"])
    throw_mismatch_of(report, entry["plans"], "with " + print_sizes(entry["sizes"]) + ": ");
}

/// Throws a UsageError for shapes that the program cannot run at.
void check_shapes(const CheckOptions& options) {
  const std::vector<GivenShape> shapes = parse_given_shapes(options.check.compile.shapes);
  check_shapes_of_program(shapes, false);
  if (shapes.empty()) return;
  const intarsia::Program program = intarsia::Program::load(options.path);
  inputs_at(program, program.functions().at(0), shapes, 0, options.inputs, true);
}

void check(CheckOptions& options) {
  const GivenInputs given = read_given_inputs(options.inputs, options.path, options.check.compile);
  options.check.inputs = given.views;
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  options.check.compile.progress = [&](const std::string& phase, int done, int total) {
    display->show(phase, static_cast<double>(done) / total);
  };
  const InterruptGuard guard(options.check.compile);
  const intarsia::CheckReport report = intarsia::Compiler::get().check(options.path, options.check);
  display.reset();
  Json json = Json::parse(report.json);
  for (Json& input : json["inputs"]) {
    const auto conversion = given.conversions.find(input["name"].get<std::string>());
    input["conversion"] = conversion == given.conversions.end() ? Json(nullptr) : Json(conversion->second);
  }
  if (options.json) {
    print_json(json);
  } else {
    print_report(json, options.verbosity);
  }
  if (!report.ok) throw_mismatch(json);
}

}  // namespace

void add_check_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("check",
                         "Compare a model's or program's outputs, of every plan that it has, with another "
                         "runtime's");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("path", options->path, "A model, which is compiled first, or a program")
      ->required()
      ->type_name("MODEL|PROGRAM");
  add_input_option(*command, options->inputs);
  command
      ->add_option("--model", options->check.model,
                   "Compare a program with this model (default: what it was compiled from)")
      ->type_name("MODEL");
  command
      ->add_option("--against", options->check.against,
                   "What to compare with (default: the model's framework, else reference)")
      ->check(CLI::IsMember({"onnxruntime", "tensorflow", "reference"}))
      ->type_name("FRAMEWORK|reference");
  command
      ->add_option(
          "--rtol", options->check.rtol,
          "Allowed difference, relative to the largest number in the output (default: 1e-3; outputs in f16 "
          "1e-2, as with --precision f16; in bf16 and with --precision bf16 6e-2)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("R");
  command->add_option("--atol", options->check.atol, "Additional allowed difference (default: 1e-5)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("A");
  command->add_flag("--bisect", options->check.bisect,
                    "After a mismatch, look for the first node whose value is wrong (for a program: compile "
                    "its model again)");
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->check.compile);
  describe_shape_of_program(*command, "");
  command->footer(
      "Examples:\n"
      "  intarsia check resnet.onnx\n"
      "  intarsia check resnet.onnx --pin 'conv1*=reference@cpu' --bisect\n"
      "  intarsia check resnet.so -i image=cat.npy --against reference\n"
      "  intarsia check bert.so --shape ids=4x77");
  command->callback([options, command] {
    if (is_program(options->path)) {
      refuse_compile_options(*command, {"--threads", "--fallback", "--shape"});
      check_shapes(*options);
    } else if (!options->check.model.empty()) {
      throw UsageError("--model is for checking a program; " + options->path + " is taken for a model");
    }
    check(*options);
  });
}
