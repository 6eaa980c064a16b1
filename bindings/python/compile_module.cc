#include "compile_module.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <intarsia/intarsia_compile.hpp>
#include <optional>
#include <string>
#include <vector>

#include "value.h"

namespace nb = nanobind;

namespace intarsia_python {
namespace {

using Progress = std::function<void(const std::string&, int, int)>;
using Print = std::function<void(const std::string&)>;

/// Callbacks into Python from work that has released the interpreter lock. An exception in them, including
/// that of Ctrl-C, ends the work and is raised by run().
class Callbacks {
 public:
  Callbacks(std::optional<Progress> progress, std::optional<Print> print, intarsia::CompileOptions& options) {
    options.is_cancelled = [this] {
      if (exception_) return true;
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) exception_.emplace();
      return exception_.has_value();
    };
    if (progress)
      options.progress = [this, callback = std::move(*progress)](const std::string& phase, int done,
                                                                 int total) {
        call([&] { callback(phase, done, total); });
      };
    if (print)
      options.print = [this, callback = std::move(*print)](const std::string& text) {
        call([&] { callback(text); });
      };
  }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  /// Runs the work without the interpreter lock.
  template <typename Work>
  auto run(Work work) {
    try {
      const nb::gil_scoped_release release;
      return work();
    } catch (const intarsia::Error&) {
      if (exception_) throw std::move(*exception_);
      throw;
    }
  }

 private:
  template <typename Call>
  void call(Call callback) {
    if (exception_) return;
    const nb::gil_scoped_acquire acquire;
    try {
      callback();
    } catch (nb::python_error& error) {
      exception_.emplace(std::move(error));
    }
  }

  std::optional<nb::python_error> exception_;
};

/// Defines an attribute whose values are the words of a choice.
template <typename Choice>
void define_choice(nb::class_<intarsia::CompileOptions>& options, const char* name, const char* option,
                   Choice intarsia::CompileOptions::* choice) {
  using intarsia::CompileOptions;
  options.def_prop_rw(
      name, [choice](const CompileOptions& from) { return intarsia::detail::word_of(from.*choice); },
      [choice, option](CompileOptions& to, const std::string& word) {
        to.*choice = intarsia::detail::choice_of<Choice>(word, option);
      });
}

void define_options(nb::module_& module) {
  using intarsia::CompileOptions;
  nb::class_<CompileOptions> options(module, "CompileOptions");
  options.def(nb::init<>())
      .def_rw("devices", &CompileOptions::devices)
      .def_rw("backends", &CompileOptions::backends)
      .def_rw("shapes", &CompileOptions::shapes)
      .def_rw("pins", &CompileOptions::pins)
      .def_rw("kernels", &CompileOptions::kernels)
      .def_rw("arch", &CompileOptions::arch)
      .def_rw("cpu", &CompileOptions::cpu)
      .def_rw("threads", &CompileOptions::threads)
      .def_rw("tune_seconds", &CompileOptions::tune_seconds)
      .def_rw("max_error", &CompileOptions::max_error)
      .def_rw("tune_at", &CompileOptions::tune_at)
      .def_rw("cache", &CompileOptions::cache)
      .def_rw("also", &CompileOptions::also)
      .def_rw("memory", &CompileOptions::memory)
      .def_rw("stages", &CompileOptions::stages)
      .def_rw("cuts", &CompileOptions::cuts)
      .def_rw("c_names", &CompileOptions::c_names)
      .def_rw("plan", &CompileOptions::plan)
      .def_rw("save_plan", &CompileOptions::save_plan)
      .def_rw("signatures", &CompileOptions::signatures)
      .def_rw("op_libraries", &CompileOptions::op_libraries)
      .def_rw("strip_names", &CompileOptions::strip_names)
      .def_rw("dry_run", &CompileOptions::dry_run)
      .def_rw("print_after", &CompileOptions::print_after)
      .def_rw("stop_after", &CompileOptions::stop_after);
  define_choice(options, "fallback", "--fallback", &CompileOptions::fallback);
  define_choice(options, "math", "--math", &CompileOptions::math);
  define_choice(options, "precision", "--precision", &CompileOptions::precision);
  define_choice(options, "optimize", "--optimize", &CompileOptions::optimize);
  define_choice(options, "tune", "--tune", &CompileOptions::tune);
  define_choice(options, "objective", "--objective", &CompileOptions::objective);
  define_choice(options, "prefer", "--prefer", &CompileOptions::prefer);
  define_choice(options, "emit", "--emit", &CompileOptions::emit);
  define_choice(options, "constants", "--constants", &CompileOptions::constants);
}

/// Returns views of inputs, which must outlive them.
std::vector<intarsia::NamedView> views_of(std::vector<std::pair<std::string, Value*>>& inputs) {
  std::vector<intarsia::NamedView> views;
  for (auto& [name, value] : inputs) {
    const intarsia_tensor tensor = value->describe(name.c_str());
    views.push_back({name, intarsia::View(tensor.data, tensor.dtype, value->shape)});
  }
  return views;
}

/// Throws when the path may not be written or replaced, or is one of `inputs`.
void check_output(const std::string& path, const std::vector<std::string>& inputs) {
  std::vector<const char*> names;
  for (const std::string& input : inputs) names.push_back(input.c_str());
  intarsia::detail::check(intarsia_output_check(path.c_str(), names.data(), names.size()));
}

/// Defines functions that check and write files which the user names.
void define_files(nb::module_& module) {
  module.def("check_output", [](const std::string& path, const std::vector<std::string>& inputs) {
    check_output(path, inputs);
  });
  module.def("write_output",
             [](const std::string& path,
                nb::ndarray<nb::ro, uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> bytes,
                const std::vector<std::string>& inputs) {
               const intarsia_string piece{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
               const nb::gil_scoped_release release;
               check_output(path, inputs);
               intarsia::detail::check(intarsia_output_write(path.c_str(), &piece, 1));
             });
}

/// Defines functions about times of kernels, from and for other machines.
void define_costs(nb::module_& module) {
  using intarsia::CompileOptions;
  module.def("tune_pack", [](const std::string& model, const std::string& folder, CompileOptions options) {
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    return callbacks.run([&] { return intarsia::Compiler::get().tune_pack(model, folder, options); });
  });
  module.def("export_costs", [](const std::string& path, const std::string& cpu, const std::string& cache) {
    return intarsia::Compiler::get().export_costs(path, cpu, cache);
  });
  module.def("import_costs", [](const std::string& path, const std::string& cache) {
    return intarsia::Compiler::get().import_costs(path, cache);
  });
}

}  // namespace

void define_compile(nb::module_& module) {
  using intarsia::CompileOptions;
  define_options(module);
  module.def(
      "compile",
      [](const std::string& model, const std::string& program, CompileOptions options,
         std::optional<Progress> progress, std::optional<Print> print,
         std::vector<std::pair<std::string, Value*>> inputs) {
        options.inputs = views_of(inputs);
        Callbacks callbacks(std::move(progress), std::move(print), options);
        return callbacks.run([&] { return intarsia::Compiler::get().compile(model, program, options); });
      },
      nb::arg("model"), nb::arg("program"), nb::arg("options"), nb::arg("progress").none(),
      nb::arg("print").none(), nb::arg("inputs"));
  module.def("explain", [](const std::string& path, CompileOptions options) {
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    return callbacks.run([&] { return intarsia::Compiler::get().explain(path, options).json; });
  });
  module.def("explain_html", [](const std::string& path, CompileOptions options) {
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    return callbacks.run([&] { return intarsia::Compiler::get().explain(path, options).html; });
  });
  module.def("annotate", [](const std::string& model, const std::string& path, CompileOptions options) {
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    callbacks.run([&] { intarsia::Compiler::get().annotate(model, path, options); });
  });
  module.def("split", [](const std::string& model, const std::vector<std::string>& cuts,
                         const std::string& folder, CompileOptions options) {
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    return callbacks.run([&] { return intarsia::Compiler::get().split(model, cuts, folder, options); });
  });
  module.def(
      "rewrite", [](const std::string& model, const std::string& output, const CompileOptions& compile,
                    bool force, bool keep_variables, std::vector<std::pair<std::string, Value*>> inputs,
                    const std::vector<std::string>& replacements) {
        intarsia::RewriteOptions options{force, views_of(inputs), keep_variables, replacements, compile};
        Callbacks callbacks(std::nullopt, std::nullopt, options.compile);
        const intarsia::RewriteReport report =
            callbacks.run([&] { return intarsia::Compiler::get().rewrite(model, output, options); });
        return std::pair(report.json, report.html);
      });
  module.def("export_functions", [](const std::vector<std::pair<std::string, nb::bytes>>& objects,
                                    const std::string& path, CompileOptions options) {
    std::vector<std::pair<std::string, std::string>> functions;
    for (const auto& [name, object] : objects)
      functions.emplace_back(name, std::string(object.c_str(), object.size()));
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    callbacks.run([&] { intarsia::Compiler::get().export_functions(functions, path, options); });
  });
  module.def("export_generators", [](const std::string& library, const std::vector<std::string>& generators,
                                     const std::string& path, CompileOptions options) {
    Callbacks callbacks(std::nullopt, std::nullopt, options);
    callbacks.run([&] { intarsia::Compiler::get().export_generators(library, generators, path, options); });
  });
  module.def("check", [](const std::string& path, const CompileOptions& compile, const std::string& model,
                         const std::string& against, double rtol, double atol, bool bisect,
                         std::vector<std::pair<std::string, Value*>> inputs,
                         const std::vector<std::pair<std::string, std::string>>& bindings) {
    intarsia::CheckOptions options;
    options.bindings = bindings;
    options.inputs = views_of(inputs);
    options.model = model;
    options.against = against;
    options.rtol = rtol;
    options.atol = atol;
    options.bisect = bisect;
    options.compile = compile;
    Callbacks callbacks(std::nullopt, std::nullopt, options.compile);
    return callbacks.run([&] { return intarsia::Compiler::get().check(path, options).json; });
  });
  define_costs(module);
  define_files(module);
  module.def("pass_names", [] { return intarsia::Compiler::get().pass_names(); });
  module.def("backends", [] { return intarsia::Compiler::get().backends(); });
}

}  // namespace intarsia_python
