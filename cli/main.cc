// Command line: a thin layer over include/intarsia.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <intarsia/intarsia.hpp>

#include "cli/commands/commands.h"
#include "cli/system/interrupt.h"
#include "cli/usage/help.h"
#include "cli/usage/usage_error.h"
#include "cli/usage/wrong_usage.h"

namespace {

/// Prints an error as one line, whatever names and messages of other libraries contain.
int report(std::string message, int status) {
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return status;
}

constexpr int work_failed = 1;
constexpr int wrong_usage = 2;

/// Returns the exit status: wrong usage for errors that the user can fix on the command line, an option or an
/// input.
int status_of(const intarsia::Error& error) {
  return error.kind() == INTARSIA_ERROR_INVALID_ARGUMENT ? wrong_usage : work_failed;
}

/// Sets what TensorFlow reads when it is opened, unless the user has set it. Main calls this before anything
/// else: the environment belongs to the program, not to a library in it.
void set_environment() {
  constexpr int keep = 0;
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", keep);           // startup notes do not concern our users
  setenv("TF_OVERRIDE_GLOBAL_THREADPOOL", "1", keep);  // else the first session sets the threads of all
}

void parse_and_run(CLI::App& app, int argc, char** argv) {
  check_dashes(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    app.exit(success);
  }
}

/// Flushes standard output and throws if that fails: an error such as a full disk shows here at the latest.
void check_printed() {
  const int flushed = std::fflush(stdout);
  const std::string why = flushed != 0 ? std::string(": ") + std::strerror(errno) : "";
  if (flushed != 0 || std::ferror(stdout) != 0)
    throw intarsia::Error("cannot write to standard output" + why);
}

}  // namespace

int main(int argc, char** argv) {
  set_environment();
  CLI::App app{
      "Compiles a trained model into one program made of pieces for several backends and devices, and runs "
      "it."};
  app.name("intarsia");
  app.formatter(std::make_shared<Help>());  // applies to the commands, too
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Positionals", "Arguments");
  app.set_version_flag("--version", std::string("intarsia ") + intarsia_version());
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  intarsia compile resnet.onnx -o resnet.so\n"
      "  intarsia run resnet.so -i image=cat.npy -o results\n"
      "  intarsia check resnet.onnx\n"
      "  intarsia bench resnet.onnx --against onnxruntime,openvino\n"
      "  intarsia explain resnet.so --html resnet.html\n\n"
      "`intarsia COMMAND --help` says more. Exit status: 0 done, 1 the work failed, 2 wrong usage (an option "
      "or an input).");
  add_compile_command(app);
  add_run_command(app);
  add_check_command(app);
  add_bench_command(app);
  add_explain_command(app);
  add_split_command(app);
  add_rewrite_command(app);
  add_tune_pack_command(app);
  add_costs_command(app);
  add_devices_command(app);
  add_shell_commands(app);
  for (CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) command->group("Commands");
  try {
    parse_and_run(app, argc, argv);
    check_printed();
  } catch (const CLI::ParseError& error) {
    return report(explain_wrong_usage(app, error), wrong_usage);
  } catch (const UsageError& error) {
    return report(error.what(), wrong_usage);
  } catch (const intarsia::Error& error) {
    InterruptGuard::end_if_interrupted();
    return report(error.what(), status_of(error));
  } catch (const std::bad_alloc&) {
    return report("out of memory", work_failed);
  } catch (const std::exception& error) {
    return report(error.what(), work_failed);
  }
  return 0;
}
