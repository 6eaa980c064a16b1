// intarsia rewrite
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/inputs/model_inputs.h"
#include "cli/system/interrupt.h"
#include "cli/text/print.h"
#include "cli/text/progress.h"
#include "cli/usage/compile_options.h"

namespace {

struct RewriteOptions {
  std::string model, output;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  InputOptions inputs;
  intarsia::RewriteOptions rewrite;
};

void print_signature(const Json& signature) {
  const std::string name = signature["name"];
  if (!signature["not_timed"].is_null()) {
    fmt::print("  {:<9} {}: not timed: {}\n", "signature", name, signature["not_timed"].get<std::string>());
    return;
  }
  const double before = signature["before_ms"], after = signature["after_ms"];
  fmt::print("  {:<9} {}: {:.3g} ms, was {:.3g} ms: {:.2f} times as fast\n", "signature", name, after, before,
             before / after);
}

/// Returns the program's function, after what the user wanted it to replace.
std::string name_of_part(const Json& part) {
  const std::string function = part["function"];
  return part["scope"].is_null() ? function
                                 : fmt::format("{} by {} of {}", part["scope"].get<std::string>(), function,
                                               part["program"].get<std::string>());
}

void print_report(const Json& report, const std::string& output) {
  for (const Json& part : report["replaced"])
    fmt::print("  {:<9} {}: {}, {} and {}\n", "replaced", name_of_part(part), count_of(part["nodes"], "node"),
               count_of(part["inputs"].size(), "input"), count_of(part["outputs"].size(), "output"));
  for (const Json& kept : report["kept"]) fmt::print("  {:<9} {}\n", "kept", kept.get<std::string>());
  for (const Json& signature : report["signatures"]) print_signature(signature);
  if (!report["dropped_variables"].empty())
    fmt::print("  {:<9} {}, which nothing reads any more\n", "dropped",
               count_of(report["dropped_variables"].size(), "variable"));
  const Json& bytes = report["bytes"];
  fmt::print("  {:<9} {}, was {}\n", "size", print_bytes(bytes["after"]), print_bytes(bytes["before"]));
  fmt::print("{}: {} in {:.1f} s\n", output,
             report["replaced"].empty() ? "a copy, as nothing is faster," : "written",
             report["seconds"].get<double>());
}

/// Reads the values that `-i` gives. Of a model that no program can hold as a whole, arrays tell their types.
GivenInputs read_samples(const RewriteOptions& options) {
  try {
    return read_given_inputs(options.inputs, options.model, options.rewrite.compile);
  } catch (const intarsia::Error&) {
    return read_given_inputs(options.inputs, std::vector<intarsia::Argument>());
  }
}

void rewrite(RewriteOptions& options) {
  const GivenInputs given = read_samples(options);
  options.rewrite.inputs = given.views;
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  options.rewrite.compile.progress = [&](const std::string& phase, int done, int total) {
    display->show(phase, static_cast<double>(done) / total);
  };
  const InterruptGuard guard(options.rewrite.compile);
  const std::string text = intarsia::Compiler::get().rewrite(options.model, options.output, options.rewrite);
  display.reset();
  if (options.json)
    std::puts(text.c_str());
  else if (options.verbosity != Verbosity::quiet)
    print_report(Json::parse(text), options.output);
}

}  // namespace

void add_rewrite_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("rewrite", "Let compiled parts run inside a SavedModel, which stays a SavedModel");
  auto options = std::make_shared<RewriteOptions>();
  command->add_option("model", options->model, "The model: a SavedModel folder, or a frozen GraphDef (.pb)")
      ->required()
      ->type_name("MODEL");
  command->add_option("output", options->output, "Where the new one is written")
      ->required()
      ->type_name("OUTPUT");
  command->add_flag("--force", options->rewrite.force, "Replace an older model there");
  command->add_flag("--keep-variables", options->rewrite.keep_variables,
                    "Keep variables that nothing reads any more, as a program has their values");
  command
      ->add_option("--replace", options->rewrite.replacements,
                   "Let a function of a program compute a node, all nodes of a scope, or a function of the "
                   "model, whatever is measured (docs/rewrite.md)")
      ->type_name("SCOPE=PROGRAM:FUNCTION")
      ->allow_extra_args(false);
  add_input_option(*command, options->inputs);
  add_compile_options(*command, options->rewrite.compile);
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  command->footer(
      "Example:\n"
      "  intarsia rewrite served faster\n"
      "  saved_model_cli show --dir faster --all");
  command->callback([options] { rewrite(*options); });
}
