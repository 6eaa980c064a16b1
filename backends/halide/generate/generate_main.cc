// Program that compiles the Halide generators that a library of the user registers:
//   intarsia-generate LIBRARY FOLDER CPU [NAME[/PARAMETER=VALUE...]...]
// Writes the object of each as FOLDER/NUMBER.o, counted from 0, and their names in FOLDER/names, a line each.
// The parameter "autoscheduler" names one of Halide's, "autoscheduler.X" its parameter X. The library's code
// runs in this process, which may end at any time.
#include <Halide.h>
#include <dlfcn.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/halide/build/level_features.h"
#include "base/code/worker_process.h"
#include "target/function_compiler.h"

namespace {

using Halide::Target;

/// Prints Halide's errors as the last line, and ends the process: not all of them can be caught.
class ErrorPrinter : public Halide::CompileTimeErrorReporter {
 public:
  void warning(const char*) override {}
  void error(const char* message) override {
    std::string line = message;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    for (char& c : line) c = c == '\n' ? ' ' : c;
    std::fprintf(stderr, "Halide: %s\n", line.c_str());
    std::_Exit(1);
  }
};

std::string join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

/// Generator as the command line asks for it.
struct Request {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
};

Request parse_request(const std::string& text) {
  Request request;
  size_t end = text.find('/');
  request.name = text.substr(0, end);
  while (end != std::string::npos) {
    const size_t begin = end + 1;
    end = text.find('/', begin);
    const std::string pair = text.substr(begin, end == std::string::npos ? end : end - begin);
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw std::runtime_error("'" + pair + "' of '" + text + "': want PARAMETER=VALUE");
    request.parameters.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return request;
}

/// Opens an autoscheduler, which is next to Halide's library.
void load_autoscheduler(std::string name) {
  Dl_info about = {};
  dladdr(reinterpret_cast<void*>(&Halide::load_plugin), &about);
  std::string folder = about.dli_fname == nullptr ? "" : about.dli_fname;
  folder.resize(folder.find_last_of('/') + 1);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  Halide::load_plugin(folder + "libautoschedule_" + name + ".so");
}

/// Takes the parameters of the autoscheduler out of the request.
Halide::AutoschedulerParams take_autoscheduler(Request& request) {
  const std::string option = "autoscheduler";
  Halide::AutoschedulerParams taken;
  std::erase_if(request.parameters, [&](const auto& parameter) {
    const auto& [name, value] = parameter;
    if (name == option) taken.name = value;
    if (name.starts_with(option + ".")) taken.extra[name.substr(option.size() + 1)] = value;
    return name == option || name.starts_with(option + ".");
  });
  if (!taken.name.empty()) load_autoscheduler(taken.name);
  return taken;
}

void generate(Request request, const Target& target, const std::string& path) {
  const Halide::AutoschedulerParams autoscheduler = take_autoscheduler(request);
  const auto generator = Halide::Internal::GeneratorRegistry::create(
      request.name, Halide::GeneratorContext(target, autoscheduler));
  if (generator == nullptr)
    throw std::runtime_error("no generator '" + request.name + "'; the library registers: " +
                             join(Halide::Internal::GeneratorRegistry::enumerate()));
  for (const auto& [name, value] : request.parameters) generator->set_generatorparam_value(name, value);
  generator->build_module(std::string(intarsia::user_function_prefix) + request.name)
      .compile({{Halide::OutputFileType::object, path}});
}

void generate_all(const std::string& library, const std::string& folder, const std::string& cpu,
                  std::vector<std::string> texts) {
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw std::runtime_error(std::string("cannot open it: ") + dlerror());
  if (texts.empty()) texts = Halide::Internal::GeneratorRegistry::enumerate();
  if (texts.empty()) throw std::runtime_error("it registers no generators");
  const Target target = intarsia::halide::make_target(cpu, {Target::UserContext, Target::NoRuntime});
  std::ofstream names(folder + "/names");
  for (size_t i = 0; i < texts.size(); ++i) {
    const Request request = parse_request(texts[i]);
    generate(request, target, folder + "/" + std::to_string(i) + ".o");
    names << request.name << "\n";
  }
  if (!names.flush()) throw std::runtime_error("cannot write to '" + folder + "'");
}

}  // namespace

int main(int count, char** arguments) {
  intarsia::end_with_parent();
  if (count < 4) {
    std::fputs("usage: intarsia-generate LIBRARY FOLDER CPU [NAME...]\n", stderr);
    return 2;
  }
  static ErrorPrinter printer;
  Halide::set_custom_compile_time_error_reporter(&printer);
  try {
    generate_all(arguments[1], arguments[2], arguments[3], {arguments + 4, arguments + count});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
