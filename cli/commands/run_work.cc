#include "cli/commands/run_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>

#include "cli/system/cores.h"
#include "cli/system/interrupt.h"
#include "cli/usage/compile_options.h"
#include "cli/usage/usage_error.h"

namespace {

intarsia::Function find_function(const intarsia::Program& program, const std::string& wanted) {
  std::vector<std::string> names;
  for (const intarsia::Function& function : program.functions()) {
    if (function.name == wanted) return function;
    names.push_back(function.name);
  }
  if (wanted.empty() && names.size() == 1) return program.functions()[0];
  throw UsageError(fmt::format("--function {}: want one of {}", wanted, fmt::join(names, ", ")));
}

std::vector<intarsia::Binding> read_bindings(const std::vector<std::string>& texts) {
  std::vector<intarsia::Binding> list;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      throw UsageError("--bind " + text + ": want SLOT=DEVICE, as in accel=sim:0");
    list.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return list;
}

uint32_t threads_compiled_for(const intarsia::Program& program) {
  intarsia_program_info info{};
  info.struct_size = sizeof(info);
  intarsia::detail::check(intarsia_program_describe(program.get(), &info));
  return info.threads;
}

}  // namespace

bool is_model_to_run(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path file = path;
  return std::filesystem::exists(file, ignored) && file.extension() != ".so" && !is_program(path);
}

std::vector<GivenShape> shapes_to_run_at(const RunOptions& options) {
  if (is_model_to_run(options.path)) return {};
  std::vector<GivenShape> shapes = parse_given_shapes(options.compile.shapes);
  check_shapes_of_program(shapes, false);
  return shapes;
}

Runnable::Runnable(const RunOptions& options) : given_(options.path), program_(options.path) {
  if (!is_model_to_run(given_)) return;
  folder_ = std::make_unique<TemporaryFolder>();
  program_ = *folder_ / "program.so";
  ProgressDisplay display(options.verbosity);
  intarsia::CompileOptions compile = options.compile;
  compile.progress = [&](const std::string& phase, int done, int total) {
    display.show(phase, static_cast<double>(done) / total);
  };
  const InterruptGuard guard(compile);
  intarsia::Compiler::get().compile(given_, program_, compile);
}

Json Runnable::describe() const {
  return {{"program", folder_ ? Json(nullptr) : Json(given_)},
          {"model", folder_ ? Json(given_) : Json(nullptr)}};
}

Run::Run(const RunOptions& options, const std::string& program)
    : program_(intarsia::Program::load(program)),
      function_(find_function(program_, options.function)),
      compiled_for_(threads_compiled_for(program_)),
      threads_(threads_of_run(options.compile.threads, compiled_for_)),
      session_(program_.bind(read_bindings(options.bindings), options.compile.threads)) {}

void Run::set_inputs(const InputOptions& options, const std::vector<GivenShape>& shapes) {
  inputs_ = std::make_unique<InputValues>(inputs_at(program_, function_, shapes, 0, options, true), options);
}

double Run::run() {
  release_outputs();
  const intarsia::View made_by_the_run;
  for (const intarsia::Argument& output : function_.outputs)
    outputs_.push_back(intarsia::detail::tensor(output.name, made_by_the_run));
  const auto start = std::chrono::steady_clock::now();
  intarsia::detail::check(intarsia_session_run(session_.get(), function_.name.c_str(),
                                               inputs_->tensors().data(), inputs_->tensors().size(),
                                               outputs_.data(), outputs_.size()));
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

intarsia::Profile Run::profile(size_t runs) {
  intarsia_profile* made = nullptr;
  intarsia::detail::check(intarsia_session_profile(session_.get(), function_.name.c_str(),
                                                   inputs_->tensors().data(), inputs_->tensors().size(), runs,
                                                   &made));
  return intarsia::detail::take_profile(made);
}

intarsia::Alternative Run::alternative() const {
  const std::vector<intarsia::Function> all = program_.functions();
  size_t number = 0;
  while (all.at(number).name != function_.name) ++number;
  return session_.alternative(number);
}

void Run::release_outputs() {
  for (intarsia_tensor& output : outputs_) intarsia_tensor_release(&output);
  outputs_.clear();
}

std::vector<std::string> files_read(const RunOptions& options) {
  std::vector<std::string> files = inputs_of(options.path, options.compile);
  for (const std::string& file : input_files(options.inputs)) files.push_back(file);
  return files;
}

Json describe_run(const Runnable& runnable, const Run& run) {
  Json report = runnable.describe();
  report["function"] = run.function().name;
  report["threads"] = run.threads();
  report["compiled_for_threads"] = run.compiled_for();
  return report;
}

std::string print_threads(const Json& report) {
  if (report["threads"] == report["compiled_for_threads"]) return "";
  return fmt::format("note   its kernels were chosen for {}; compile with --threads {} to choose for this\n",
                     count_of(report["compiled_for_threads"].get<size_t>(), "thread"),
                     report["threads"].get<int>());
}
