#include "cli/usage/compile_options.h"

#include <algorithm>
#include <cstring>

#include "cli/system/files.h"
#include "cli/usage/help.h"
#include "cli/usage/plugins.h"
#include "cli/usage/usage_error.h"

namespace {
const char* const names[] = {
    "--devices", "--backends",  "--shape",      "--threads",   "--pin",          "--fallback",  "--arch",
    "--cpu",     "--kernels",   "--math",       "--tune",      "--tune-seconds", "--tune-at",   "--cache",
    "--plan",    "--signature", "--op-library", "--also",      "--memory",       "--objective", "--stages",
    "--cut",     "--prefer",    "--optimize",   "--precision", "--max-error"};

/// Adds the options that most users want, which are in the first group.
void add_common_options(CLI::App& command, intarsia::CompileOptions& options) {
  command
      .add_option("-d,--devices", options.devices,
                  "Devices, as DEVICE or SLOT=DEVICE: cpu,accel=opencl:0 or a=cpu:0,b=cpu:1-2; auto: all of "
                  "this machine, of which the plan takes those that pay (default: cpu; for throughput "
                  "all cores, each as an executor)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("[SLOT=]DEVICE,...");
  command.add_option("--threads", options.threads, "Threads of a run (default: all cores of this process)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      .add_option("--shape", options.shapes,
                  "Shape of an input: numbers, and for sizes that stay open until a run names (N), ?, ranges "
                  "(1..32) or sizes to be fastest at (1,8,32); what no shape mentions stays open, or becomes "
                  "1 on a device whose plug-in takes numbers only")
      ->type_name("INPUT=1x3x224x224")
      ->allow_extra_args(false);
}

void add_placement_options(CLI::App& command, intarsia::CompileOptions& options) {
  command
      .add_option("--backends", options.backends,
                  "Backends that may be used, in order of preference (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...")
      ->group(help_group::placement);
  add_choice(command, "--fallback", options.fallback, "none: never use a framework (default: auto)")
      ->group(help_group::placement);
  command
      .add_option("--pin", options.pins,
                  "Nodes whose name matches run there (=@SLOT: by any backend); a later pin wins")
      ->type_name("GLOB=[BACKEND]@SLOT")
      ->allow_extra_args(false)
      ->group(help_group::placement);
  command
      .add_option("--also", options.also,
                  "Slots that must be enough to run: add a plan for where the other devices are missing")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SLOT,...")
      ->group(help_group::placement);
  command
      .add_option(
          "--memory", options.memory,
          "What the program may take of the memory of a slot, constants and working memory: "
          "accel=64MB (a KB is 1024 bytes); a plan that needs less is searched for; open sizes count as the "
          "ends of their ranges")
      ->type_name("SLOT=SIZE")
      ->allow_extra_args(false)
      ->group(help_group::placement);
  add_choice(command, "--prefer", options.prefer,
             "What ships where plans take nearly the same time: self-contained, one that needs no "
             "framework unless another takes at least 3% less; fastest (default: self-contained)")
      ->group(help_group::placement);
  command
      .add_option("--plan", options.plan,
                  "Run each node where this plan says; measure nothing (docs/plans.md)")
      ->type_name("PLAN.json")
      ->group(help_group::placement);
}

void add_code_options(CLI::App& command, intarsia::CompileOptions& options) {
  command
      .add_option(
          "--arch", options.arch,
          "Architecture of the machine that runs the program: x86-64, aarch64, armv7, riscv64, or, for "
          "C on microcontrollers, armv7e-m or armv8.1-m.main; "
          "nothing is measured for other machines than this one (default: this machine's)")
      ->type_name("ARCH")
      ->group(help_group::code);
  command
      .add_option(
          "--cpu", options.cpu,
          "Generate code for native, a level (x86-64-v2, x86-64-v3, x86-64-v4), or a processor and its "
          "successors: alderlake, cascadelake, sapphirerapids, znver4; with --arch, one of that architecture "
          "(armv8-a, cortex-a72: docs/other_cpus.md); or for several with commas: a machine takes the most "
          "demanding that it can run (default: native)")
      ->type_name("CPU,...")
      ->group(help_group::code);
  add_choice(command, "--math", options.math,
             "exact: direct arithmetic only; fast: errors up to 1e-4 of the largest output (default: fast)")
      ->group(help_group::code);
  add_choice(
      command, "--precision", options.precision,
      "bf16: products with constant weights round their factors to bf16 where that is faster; f16: they "
      "keep these weights as f16; auto: bf16, or else f16, if outputs differ by at most --max-error "
      "(default: f32)")
      ->group(help_group::code);
  command
      .add_option("--max-error", options.max_error,
                  "Largest difference with --precision auto, relative to the largest element of an output "
                  "(default: 0.01)")
      ->check(CLI::Range(1e-9, 1e9))
      ->type_name("E")
      ->group(help_group::code);
  add_choice(command, "--optimize", options.optimize,
             "size: no weights that are larger than the model's to be faster, and no plan without "
             "frameworks beside one with them (default: speed)")
      ->group(help_group::code);
  add_choice(command, "--tune", options.tune,
             "Choose kernels by measuring few or many variants, and what a framework runs by "
             "measuring whole plans (default: fast)")
      ->group(help_group::code);
  command.add_option("--tune-seconds", options.tune_seconds, "Measure for at most this long")
      ->check(CLI::Range(0.0, 1e9))
      ->type_name("S")
      ->group(help_group::code);
  command
      .add_option(
          "--tune-at", options.tune_at,
          "Sizes of open symbols to be fastest at, as batch=8 or batch=1,8,seq=77; plans are measured "
          "with the first of each")
      ->type_name("SYMBOL=SIZE,...")
      ->allow_extra_args(false)
      ->group(help_group::code);
  command
      .add_option("--cache", options.cache,
                  "Folder of the measured times and generated code (default: the user's cache folder)")
      ->type_name("FOLDER")
      ->group(help_group::code);
}

void add_model_options(CLI::App& command, intarsia::CompileOptions& options) {
  command
      .add_option("--signature", options.signatures,
                  "Signature of a SavedModel, a function of the program (default: serving_default, or all)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(help_group::model);
  command
      .add_option("--kernels", options.kernels, "Library with your own kernels (include/intarsia/kernel.h)")
      ->type_name("LIB.so")
      ->allow_extra_args(false)
      ->group(help_group::model);
  command.add_option("--op-library", options.op_libraries, "Library with your own TensorFlow operators")
      ->type_name("TF_OPS.so")
      ->allow_extra_args(false)
      ->group(help_group::model);
  add_plugin_option(command)->group(help_group::model);
}

void add_stage_options(CLI::App& command, intarsia::CompileOptions& options) {
  add_choice(command, "--objective", options.objective,
             "What the plan is for: latency, or throughput: stages for a pipeline (default: latency)")
      ->group(help_group::throughput);
  command
      .add_option("--stages", options.stages,
                  "Stages of a pipeline; auto: as many as are best (default: auto; docs/stages.md)")
      ->type_name("auto|N")
      ->group(help_group::throughput);
  command
      .add_option("--cut", options.cuts, "A stage ends where this value is made; once a stage but the last")
      ->type_name("VALUE")
      ->allow_extra_args(false)
      ->group(help_group::throughput);
}
}  // namespace

void add_compile_options(CLI::App& command, intarsia::CompileOptions& options) {
  add_common_options(command, options);
  add_placement_options(command, options);
  add_code_options(command, options);
  add_model_options(command, options);
  add_stage_options(command, options);
}

void describe_shape_of_program(CLI::App& command, const std::string& also) {
  CLI::Option* shape = command.get_option("--shape");
  shape->description(shape->get_description() +
                     ". Of a program: numbers, the shape of an input without a file" + also);
}

void refuse_compile_options(const CLI::App& command, const std::vector<std::string>& allowed) {
  for (const char* name : names) {
    if (command.count(name) == 0 || std::find(allowed.begin(), allowed.end(), name) != allowed.end())
      continue;
    throw UsageError(std::string(name) +
                     " says how to compile a model, but a program is given, which is already compiled");
  }
}

std::vector<std::string> inputs_of(const std::string& model, const intarsia::CompileOptions& options) {
  std::vector<std::string> inputs{model};
  inputs.insert(inputs.end(), options.kernels.begin(), options.kernels.end());
  inputs.insert(inputs.end(), options.op_libraries.begin(), options.op_libraries.end());
  if (!options.plan.empty()) inputs.push_back(options.plan);
  return inputs;
}

bool is_program(const std::string& path) {
  try {
    const std::vector<char> magic = read_file(path, 4);
    return magic.size() == 4 && std::memcmp(magic.data(), "\177ELF", 4) == 0;
  } catch (const intarsia::Error&) {
    return false;
  }
}
