// intarsia rewrite
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/inputs/model_inputs.h"
#include "cli/system/files.h"
#include "cli/system/interrupt.h"
#include "cli/text/print.h"
#include "cli/text/progress.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/usage_error.h"

namespace {

struct RewriteOptions {
  std::string model, output, html;
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

/// Formats the operators of a part: "2 MatMul, 2 Tanh, 5 more".
std::string print_operators(const Json& part) {
  constexpr size_t most = 3;
  std::string text;
  size_t rest = part["nodes"], listed = 0;
  for (const auto& [name, count] : part["operators"].items()) {
    if (listed++ == most) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.get<size_t>(), name);
    rest -= count.get<size_t>();
  }
  return rest == 0 ? text : fmt::format("{}, {} more", text, rest);
}

/// Formats the sizes that signatures were timed at, each input once: "words=4x20".
std::string print_timed_sizes(const Json& signatures) {
  std::vector<std::string> texts;
  for (const Json& signature : signatures)
    for (const Json& input : signature["inputs"]) {
      const std::vector<int64_t> shape = input["shape"];
      const std::string sizes = shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
      const std::string text = input["name"].get<std::string>() + "=" + sizes;
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_report(const Json& report, const std::string& output) {
  for (const Json& part : report["replaced"])
    fmt::print("  {:<9} {}: {}: {}\n", "replaced", name_of_part(part), count_of(part["nodes"], "node"),
               print_operators(part));
  for (const Json& kept : report["kept"]) fmt::print("  {:<9} {}\n", "kept", kept.get<std::string>());
  for (const Json& signature : report["signatures"]) print_signature(signature);
  if (const std::string sizes = print_timed_sizes(report["signatures"]); !sizes.empty())
    fmt::print("  {:<9} {}\n", "timed at", sizes);
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

/// Checks, before the long work, that the page can be written and replaces nothing that is read or made.
void check_page(const RewriteOptions& options) {
  std::vector<std::string> inputs = inputs_of(options.model, options.rewrite.compile);
  for (const std::string& file : input_files(options.inputs)) inputs.push_back(file);
  const auto resolve = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
    return whole.has_filename() ? whole : whole.parent_path();
  };
  const std::filesystem::path page = resolve(options.html), output = resolve(options.output);
  if (std::mismatch(output.begin(), output.end(), page.begin(), page.end()).first == output.end())
    throw UsageError(fmt::format("--html {}: it is the output, or in it; name another file", options.html));
  check_output(options.html, inputs);
}

void rewrite(RewriteOptions& options) {
  if (!options.html.empty()) check_page(options);
  const GivenInputs given = read_samples(options);
  options.rewrite.inputs = given.views;
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  options.rewrite.compile.progress = [&](const std::string& phase, int done, int total) {
    display->show(phase, static_cast<double>(done) / total);
  };
  const InterruptGuard guard(options.rewrite.compile);
  const intarsia::RewriteReport report =
      intarsia::Compiler::get().rewrite(options.model, options.output, options.rewrite);
  display.reset();
  if (!options.html.empty()) write_file(options.html, {report.html});
  if (options.json)
    std::puts(report.json.c_str());
  else if (options.verbosity != Verbosity::quiet)
    print_report(Json::parse(report.json), options.output);
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
      ->add_option("--html", options->html,
                   "Write a page with the report, too, which a browser opens without anything else")
      ->type_name("FILE");
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
      "  intarsia rewrite served faster --html report.html\n"
      "  saved_model_cli show --dir faster --all");
  command->callback([options] { rewrite(*options); });
}
