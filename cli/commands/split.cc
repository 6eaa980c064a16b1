// intarsia split
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/text/progress.h"
#include "cli/usage/compile_options.h"

namespace {

struct SplitOptions {
  std::string model, folder;
  std::vector<std::string> cuts;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;
};

std::string join(const nlohmann::json& names) {
  return fmt::format("{}", fmt::join(names.get<std::vector<std::string>>(), ", "));
}

void print_report(const nlohmann::json& report) {
  for (const auto& stage : report["stages"]) {
    fmt::print("{}: {} nodes\n  reads {}\n  gives {}\n", stage["model"].get<std::string>(),
               stage["nodes"].get<size_t>(), join(stage["inputs"]), join(stage["outputs"]));
  }
  const std::string folder = report["folder"], pipeline = report["pipeline"];
  fmt::print(
      "Compile each: intarsia compile {0}/stage0.onnx -o {0}/stage0.so ... "
      "Then: intarsia run --pipeline {1} --runs 1000\n",
      folder, pipeline);
}

void split(const SplitOptions& options) {
  const std::string json =
      intarsia::Compiler::get().split(options.model, options.cuts, options.folder, options.compile);
  if (options.json)
    std::puts(json.c_str());
  else if (options.verbosity != Verbosity::quiet)
    print_report(nlohmann::json::parse(json));
}

}  // namespace

void add_split_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("split", "Cut an ONNX model into models of their own, for a pipeline");
  auto options = std::make_shared<SplitOptions>();
  command->add_option("model", options->model, "The model")->required()->type_name("MODEL.onnx");
  command
      ->add_option("-o,--output", options->folder,
                   "Where stage0.onnx, stage1.onnx, ... and pipeline.json are written")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("--cut", options->cuts, "A stage ends where this value is made; once a stage but the last")
      ->required()
      ->type_name("VALUE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--shape", options->compile.shapes,
          "Shape of an input: numbers, and for sizes that stay open until a run names (N), ?, ranges "
          "(1..32) or sizes to be fastest at (1,8,32); what no shape mentions stays open, or becomes 1 on "
          "a device whose plug-in takes numbers only")
      ->type_name("INPUT=1x3x224x224")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  command->footer(
      "Examples:\n"
      "  intarsia split resnet.onnx -o pieces --cut pool3\n"
      "  intarsia compile pieces/stage0.onnx -o pieces/stage0.so -d cpu:0\n"
      "  intarsia compile pieces/stage1.onnx -o pieces/stage1.so -d opencl:0\n"
      "  intarsia run --pipeline pieces/pipeline.json --runs 1000");
  command->callback([options] { split(*options); });
}
