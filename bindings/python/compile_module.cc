#include "compile_module.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <intarsia/intarsia_compile.hpp>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace intarsia_python {
namespace {

using Progress = std::function<void(const std::string&, int, int)>;

/// Calls back into Python from a call that has released the interpreter.
Progress with_interpreter(std::optional<Progress> progress) {
  if (!progress) return {};
  return [callback = std::move(*progress)](const std::string& phase, int done, int total) {
    const nb::gil_scoped_acquire acquire;
    callback(phase, done, total);
  };
}

}  // namespace

void define_compile(nb::module_& module) {
  using intarsia::CompileOptions;
  nb::class_<CompileOptions>(module, "CompileOptions")
      .def(nb::init<>())
      .def_rw("devices", &CompileOptions::devices)
      .def_rw("backends", &CompileOptions::backends)
      .def_rw("shapes", &CompileOptions::shapes)
      .def_rw("pins", &CompileOptions::pins)
      .def_rw("kernels", &CompileOptions::kernels)
      .def_rw("fallback", &CompileOptions::fallback)
      .def_rw("cpu", &CompileOptions::cpu)
      .def_rw("threads", &CompileOptions::threads)
      .def_rw("math", &CompileOptions::math)
      .def_rw("tune", &CompileOptions::tune)
      .def_rw("tune_seconds", &CompileOptions::tune_seconds)
      .def_rw("cache", &CompileOptions::cache)
      .def_rw("signatures", &CompileOptions::signatures)
      .def_rw("op_libraries", &CompileOptions::op_libraries)
      .def_rw("strip_names", &CompileOptions::strip_names);
  module.def("compile", [](const std::string& model, const std::string& program, CompileOptions options, std::optional<Progress> progress) {
    options.progress = with_interpreter(std::move(progress));
    const nb::gil_scoped_release release;
    return intarsia::Compiler::get().compile(model, program, options);
  }, nb::arg("model"), nb::arg("program"), nb::arg("options"), nb::arg("progress").none());
  module.def("explain", [](const std::string& path, const CompileOptions& options) {
    const nb::gil_scoped_release release;
    return intarsia::Compiler::get().explain(path, options).json;
  });
  module.def("check", [](const std::string& path, const CompileOptions& compile, const std::string& model, const std::string& against,
                         double rtol, double atol, bool bisect) {
    intarsia::CheckOptions options;
    options.model = model;
    options.against = against;
    options.rtol = rtol;
    options.atol = atol;
    options.bisect = bisect;
    options.compile = compile;
    const nb::gil_scoped_release release;
    return intarsia::Compiler::get().check(path, options).json;
  });
  module.def("backends", [] { return intarsia::Compiler::get().backends(); });
}

}  // namespace intarsia_python
