// intarsia explain
#include <cstdio>
#include <map>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/system/files.h"
#include "cli/text/progress.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/usage_error.h"

namespace {

struct ExplainOptions {
  std::string path, dot, html, annotated;
  bool json = false, nodes = false;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;
};

void explain(const ExplainOptions& options) {
  std::map<std::string, std::string> outputs;  // files, and the options that name them
  for (const auto& [option, file] : {std::pair("--dot", options.dot), std::pair("--html", options.html),
                                     std::pair("--annotate", options.annotated)}) {
    if (file.empty()) continue;
    check_output(file, inputs_of(options.path, options.compile));
    const auto [other, is_new] = outputs.emplace(file, option);
    if (!is_new) throw UsageError(other->second + " and " + option + " name the same file");
  }
  const intarsia::Explanation explanation = intarsia::Compiler::get().explain(options.path, options.compile);
  if (!options.annotated.empty())
    intarsia::Compiler::get().annotate(options.path, options.annotated, options.compile);
  if (!options.dot.empty()) write_file(options.dot, {explanation.dot});
  if (!options.html.empty()) write_file(options.html, {explanation.html});
  std::fputs((options.json ? explanation.json : explanation.text).c_str(), stdout);
  const bool lists_nodes = options.nodes || options.verbosity == Verbosity::verbose;
  if (lists_nodes && !options.json) std::fputs(explanation.nodes.c_str(), stdout);
  if (options.json) std::fputs("\n", stdout);
}

}  // namespace

void add_explain_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "Show which backend runs each node, and why");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("path", options->path, "A model (it is placed, but not compiled) or a program")
      ->required()
      ->type_name("MODEL|PROGRAM");
  command->add_option("--dot", options->dot, "Write a picture for Graphviz, too (dot -Tsvg FILE)")
      ->type_name("FILE");
  command
      ->add_option("--html", options->html,
                   "Write a page with a picture and tables, too, which a browser opens without anything else")
      ->type_name("FILE");
  command
      ->add_option("--annotate", options->annotated,
                   "Write a copy of the ONNX model, too, whose nodes say where this plan, or that of --plan, "
                   "runs them: compiling it gives the same plan (docs/plans.md)")
      ->type_name("OUT.onnx");
  command->add_flag("--nodes", options->nodes, "List every node, too: where it is, why, and who refused it");
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->compile);
  command->footer(
      "Examples:\n"
      "  intarsia explain resnet.onnx\n"
      "  intarsia explain resnet.onnx --html resnet.html\n"
      "  intarsia explain resnet.so --dot resnet.dot && dot -Tsvg resnet.dot > resnet.svg");
  command->callback([options, command] {
    if (is_program(options->path)) {
      refuse_compile_options(*command, {});
      if (!options->annotated.empty())
        throw UsageError("--annotate writes into a model, but a program is given; name its model");
    }
    explain(*options);
  });
}
