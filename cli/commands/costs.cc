// intarsia costs and intarsia tune-pack: times of kernels, from and for other machines.
#include <fmt/format.h>

#include <intarsia/intarsia_compile.hpp>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/system/interrupt.h"
#include "cli/text/print.h"
#include "cli/text/progress.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/help.h"
#include "cli/usage/usage_error.h"

namespace {

struct CostsOptions {
  std::string action, file, cache, cpu;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
};

std::string print_exchange(const Json& report, const CostsOptions& options) {
  const std::string kernels = count_of(report["kernels"].get<size_t>(), "kernel");
  const std::string of =
      fmt::format("for {} on {}", report["cpu"].get<std::string>(), report["machine"].get<std::string>());
  if (options.action == "export") return fmt::format("{}: times of {} {}\n", options.file, kernels, of);
  std::string text = fmt::format("{}: times of {} {}: {} taken, {} known already\n", options.file, kernels,
                                 of, report["taken"].get<size_t>(), report["known"].get<size_t>());
  if (!report["warning"].is_null())
    text += fmt::format("warning: {}\n", report["warning"].get<std::string>());
  return text;
}

void exchange_costs(const CostsOptions& options) {
  if (options.action == "import" && !options.cpu.empty())
    throw UsageError("--cpu: the file to import says which processor its times are for; leave it out");
  const intarsia::Compiler& compiler = intarsia::Compiler::get();
  const std::string report = options.action == "export"
                                 ? compiler.export_costs(options.file, options.cpu, options.cache)
                                 : compiler.import_costs(options.file, options.cache);
  if (options.json)
    std::puts(report.c_str());
  else if (options.verbosity != Verbosity::quiet)
    fmt::print("{}", print_exchange(Json::parse(report), options));
}

struct PackOptions {
  std::string model, folder;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
  intarsia::CompileOptions compile;
};

void pack(PackOptions& options) {
  auto display = std::make_unique<ProgressDisplay>(options.verbosity);
  options.compile.progress = [&](const std::string& phase, int done, int total) {
    display->show(phase, static_cast<double>(done) / total);
  };
  const InterruptGuard guard(options.compile);
  const std::string text =
      intarsia::Compiler::get().tune_pack(options.model, options.folder, options.compile);
  display.reset();
  if (options.json) {
    std::puts(text.c_str());
  } else if (options.verbosity != Verbosity::quiet) {
    const Json report = Json::parse(text);
    fmt::print(
        "{}: {} for {}, with {}\nCopy it to that machine and run: sh run.sh\nThen here: intarsia costs "
        "import "
        "times.json\n",
        options.folder, count_of(report["kernels"].get<size_t>(), "kernel"), report["cpu"].get<std::string>(),
        count_of(report["threads"].get<size_t>(), "thread"));
  }
}

}  // namespace

void add_costs_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("costs", "Take measured times of kernels to another machine");
  auto options = std::make_shared<CostsOptions>();
  command
      ->add_option(
          "action", options->action,
          "export: write the times that compiles measured here to FILE; import: read FILE, whose times "
          "choose kernels for its processor (--cpu)")
      ->required()
      ->check(CLI::IsMember({"export", "import"}))
      ->type_name("export|import");
  command->add_option("file", options->file, "The file with the times (docs/costs.md)")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--cpu", options->cpu,
                   "Export times of code for this processor, as it was compiled with --cpu (default: native)")
      ->type_name("CPU");
  command
      ->add_option("--cache", options->cache,
                   "Folder of the measured times (default: the user's cache folder)")
      ->type_name("FOLDER");
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  command->footer(
      "Examples:\n"
      "  intarsia costs export times.json\n"
      "  intarsia costs import times.json");
  command->callback([options] { exchange_costs(*options); });
}

void add_tune_pack_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("tune-pack", "Write a folder that times a model's kernels on another machine");
  auto options = std::make_shared<PackOptions>();
  command->add_option("model", options->model, "The model")->required()->type_name("MODEL");
  command
      ->add_option("-o,--output", options->folder,
                   "New folder for the kernels and run.sh, which times them and writes times.json")
      ->required()
      ->type_name("FOLDER");
  command->add_flag("--json", options->json, "One JSON object on standard output (docs/json.md)");
  add_verbosity_options(*command, options->verbosity);
  add_compile_options(*command, options->compile);
  command->footer(
      "Examples:\n"
      "  intarsia tune-pack net.onnx -o pack --arch aarch64 --cpu cortex-a72\n"
      "  scp -r pack board: && ssh board sh pack/run.sh && scp board:pack/times.json .\n"
      "  intarsia costs import times.json\n"
      "  intarsia compile net.onnx --arch aarch64 --cpu cortex-a72");
  command->callback([options] { pack(*options); });
}
