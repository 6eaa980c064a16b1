// Extension module under the `intarsia` package: it only turns the C API into Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <intarsia/intarsia.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "compile_module.h"
#include "pipeline_module.h"
#include "value.h"

namespace nb = nanobind;

namespace {

using intarsia::detail::check;
using namespace intarsia_python;

/// Raises an error of the library as the exception class of its kind.
void raise_error(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const intarsia::Error& error) {
    const nb::module_ errors = nb::module_::import_("intarsia.errors");
    const nb::object made = errors.attr("error_of")(error.kind(), error.what());
    PyErr_SetObject(made.type().ptr(), made.ptr());
  }
}

class Session {
 public:
  explicit Session(intarsia_session* session) : session_(session, intarsia_session_release) {}

  /// Returns the outputs that are wanted, in memory of their own, and fills `buffers` with others.
  nb::dict run(const std::string& function, std::vector<std::pair<std::string, Value*>> inputs,
               const std::vector<std::string>& wanted, std::vector<std::pair<std::string, Value*>> buffers) {
    std::vector<intarsia_tensor> given;
    for (auto& [name, value] : inputs) given.push_back(value->describe(name.c_str()));
    std::vector<intarsia_tensor> outputs;
    for (const std::string& name : wanted) {
      intarsia_tensor output{};
      output.struct_size = sizeof(output);
      output.name = name.c_str();
      outputs.push_back(output);
    }
    for (auto& [name, value] : buffers) outputs.push_back(value->describe(name.c_str()));
    intarsia_error* error = nullptr;
    {
      nb::gil_scoped_release release;
      error = intarsia_session_run(session_.get(), function.empty() ? nullptr : function.c_str(),
                                   given.data(), given.size(), outputs.data(), outputs.size());
    }
    raise_what_was_raised(error);
    nb::dict results;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const OutputOwner owner(new intarsia_tensor(outputs[i]), [](intarsia_tensor* tensor) {
        intarsia_tensor_release(tensor);
        delete tensor;
      });
      results[wanted[i].c_str()] = to_python(*owner, owner);
    }
    return results;
  }

  /// Returns (runs, run_ns, [(kind, name, target, time_ns, [(node, op)], dtype, shape or None, weights'
  /// shape, flops, bytes, algorithm)]), with 0 and "" for what is not known.
  nb::tuple profile(const std::string& function, std::vector<std::pair<std::string, Value*>> inputs,
                    size_t runs) {
    std::vector<intarsia_tensor> given;
    for (auto& [name, value] : inputs) given.push_back(value->describe(name.c_str()));
    intarsia_profile* made = nullptr;
    intarsia_error* error = nullptr;
    {
      nb::gil_scoped_release release;
      error = intarsia_session_profile(session_.get(), function.empty() ? nullptr : function.c_str(),
                                       given.data(), given.size(), runs, &made);
    }
    intarsia::Profile profile;
    if (error == nullptr) profile = intarsia::detail::take_profile(made);
    raise_what_was_raised(error);
    nb::list entries;
    for (const intarsia::ProfileEntry& entry : profile.entries) {
      const nb::object shape = entry.shape_known ? nb::cast(entry.shape) : nb::none();
      entries.append(nb::make_tuple(entry.kind, entry.name, entry.target, entry.time_ns, entry.nodes,
                                    entry.dtype, shape, entry.weights_shape, entry.flops, entry.bytes,
                                    entry.algorithm));
    }
    return nb::make_tuple(profile.runs, profile.run_ns, entries);
  }

  /// Returns (number, targets, measured_ns, reason) of a function, by its number.
  nb::tuple alternative(size_t function) const {
    intarsia_alternative info{};
    info.struct_size = sizeof(info);
    check(intarsia_session_alternative(session_.get(), function, &info));
    return nb::make_tuple(info.number, std::string(info.targets), info.measured_ns, std::string(info.reason));
  }

  uint64_t arena_bytes() const { return intarsia_session_arena_bytes(session_.get()); }

  /// Returns the counts in the order of intarsia_copy_counts.
  nb::tuple copy_counts(size_t slot) const {
    intarsia_copy_counts counts{};
    counts.struct_size = sizeof(counts);
    check(intarsia_session_copy_counts(session_.get(), slot, &counts));
    return nb::make_tuple(counts.uploads, counts.uploaded_bytes, counts.downloads, counts.downloaded_bytes,
                          counts.direct, counts.direct_bytes);
  }

  /// Sets dump(name, value), which gets a copy of the value in the form of `run`'s outputs; None turns it
  /// off.
  void set_dump(nb::object dump) {
    const bool wanted = !dump.is_none();
    check(intarsia_session_set_dump(session_.get(), wanted ? call_dump : nullptr, observers_.get()));
    observers_->dump = std::move(dump);
  }

  /// Sets trace(name, kind, device, begin_ns, end_ns); None turns it off.
  void set_trace(nb::object trace) {
    const bool wanted = !trace.is_none();
    check(intarsia_session_set_trace(session_.get(), wanted ? call_trace : nullptr, observers_.get()));
    observers_->trace = std::move(trace);
  }

 private:
  /// Functions that a run calls, and the exception that they raised, which is raised when the run has ended.
  struct Observers {
    nb::object dump, trace;
    std::optional<nb::python_error> raised;

    template <typename Call>
    void call(Call function) {
      const nb::gil_scoped_acquire acquire;
      if (raised) return;
      try {
        function();
      } catch (nb::python_error& error) {
        raised.emplace(std::move(error));
      }
    }
  };

  /// Raises what a function raised or, if nothing, the run's error. Releases the error.
  void raise_what_was_raised(intarsia_error* error) {
    std::optional<nb::python_error> raised = std::exchange(observers_->raised, std::nullopt);
    if (raised) intarsia_error_release(error);
    if (raised) throw std::move(*raised);
    check(error);
  }

  static void call_dump(void* user, const intarsia_tensor* value) {
    auto& observers = *static_cast<Observers*>(user);
    observers.call([&] { observers.dump(value->name, copy_to_python(*value)); });
  }
  static void call_trace(void* user, const intarsia_trace_event* event) {
    auto& observers = *static_cast<Observers*>(user);
    observers.call(
        [&] { observers.trace(event->name, event->kind, event->device, event->begin_ns, event->end_ns); });
  }

  std::shared_ptr<Observers> observers_ = std::make_shared<Observers>();
  std::shared_ptr<intarsia_session> session_;
};

class Program : public ProgramHandle {
 public:
  explicit Program(const std::string& path) {
    intarsia_program* loaded = nullptr;
    check(intarsia_program_load(path.c_str(), &loaded));
    program = std::shared_ptr<intarsia_program>(loaded, intarsia_program_release);
  }

  Session bind(const std::vector<std::pair<std::string, std::string>>& devices, int threads,
               bool is_lost_an_error, uint64_t max_arena_bytes, bool append_in_place) const {
    const intarsia::detail::BindOptions options(devices, threads, on_device_lost(is_lost_an_error),
                                                max_arena_bytes, append_in_place);
    intarsia_session* session = nullptr;
    check(intarsia_program_bind(program.get(), options.get(), &session));
    return Session(session);
  }

  /// Returns the names of the slots.
  nb::list slots() const {
    intarsia_program_info info{};
    info.struct_size = sizeof(info);
    check(intarsia_program_describe(program.get(), &info));
    nb::list names;
    for (size_t i = 0; i < info.slot_count; ++i) {
      intarsia_slot slot{};
      slot.struct_size = sizeof(slot);
      check(intarsia_program_slot(program.get(), i, &slot));
      names.append(std::string(slot.name));
    }
    return names;
  }

  /// Returns [(function, [(name, kind, dtype, shape or None, expressions or None)], [the same for outputs],
  /// [(symbol, min, max)])].
  nb::list functions() const {
    intarsia_program_info info{};
    info.struct_size = sizeof(info);
    check(intarsia_program_describe(program.get(), &info));
    nb::list functions;
    for (size_t f = 0; f < info.function_count; ++f) {
      intarsia_function function{};
      function.struct_size = sizeof(function);
      check(intarsia_program_function(program.get(), f, &function));
      nb::list inputs, outputs;
      for (size_t i = 0; i < function.input_count; ++i)
        inputs.append(argument(intarsia_program_input, intarsia_program_input_size, f, i));
      for (size_t i = 0; i < function.output_count; ++i)
        outputs.append(argument(intarsia_program_output, intarsia_program_output_size, f, i));
      nb::list symbols;
      for (size_t i = 0; i < function.symbol_count; ++i) symbols.append(symbol(f, i));
      functions.append(nb::make_tuple(std::string(function.name), inputs, outputs, symbols));
    }
    return functions;
  }

  /// Returns {output: sizes or None}, with -1 for a size that only a run tells.
  nb::dict output_shapes(const std::string& function, const std::vector<intarsia::NamedSizes>& inputs) const {
    const std::vector<intarsia::NamedShape> shapes =
        intarsia::detail::output_shapes(program.get(), inputs, function);
    nb::dict results;
    for (const intarsia::NamedShape& shape : shapes)
      results[shape.name.c_str()] = shape.rank_known ? nb::cast(shape.shape) : nb::none();
    return results;
  }

  std::string text() const { return intarsia_program_text(program.get()); }
  void verify() const { check(intarsia_program_verify(program.get())); }

 private:
  nb::tuple symbol(size_t function, size_t number) const {
    intarsia_symbol info{};
    info.struct_size = sizeof(info);
    check(intarsia_program_symbol(program.get(), function, number, &info));
    return nb::make_tuple(std::string(info.name), info.min, info.max);
  }

  template <typename Describe, typename DescribeSize>
  nb::tuple argument(Describe describe, DescribeSize describe_size, size_t function, size_t number) const {
    intarsia_argument info{};
    info.struct_size = sizeof(info);
    check(describe(program.get(), function, number, &info));
    if (info.rank < 0)
      return nb::make_tuple(std::string(info.name), info.kind, info.dtype, nb::none(), nb::none());
    nb::list shape, expressions;
    for (int64_t i = 0; i < info.rank; ++i) {
      shape.append(info.shape[i]);
      const char* expression = nullptr;
      check(describe_size(program.get(), function, number, static_cast<size_t>(i), &expression));
      expressions.append(expression == nullptr ? nb::none() : nb::cast(std::string(expression)));
    }
    return nb::make_tuple(std::string(info.name), info.kind, info.dtype, shape, expressions);
  }
};

}  // namespace

NB_MODULE(_intarsia, module) {
  nb::register_exception_translator(raise_error);
  module.def("version", [] { return std::string(intarsia_version()); });
  intarsia_python::define_values(module);
  nb::class_<Session>(module, "Session")
      .def("run", &Session::run)
      .def("profile", &Session::profile)
      .def("alternative", &Session::alternative)
      .def("copy_counts", &Session::copy_counts)
      .def("arena_bytes", &Session::arena_bytes)
      .def("set_dump", &Session::set_dump, nb::arg("dump").none())
      .def("set_trace", &Session::set_trace, nb::arg("trace").none());
  intarsia_python::define_pipelines(module);
  nb::class_<Program, ProgramHandle>(module, "Program")
      .def(nb::init<const std::string&>())
      .def("bind", &Program::bind)
      .def("slots", &Program::slots)
      .def("functions", &Program::functions)
      .def("output_shapes", &Program::output_shapes)
      .def("text", &Program::text)
      .def("verify", &Program::verify);
  module.def("devices", [] {
    nb::list devices;
    for (size_t i = 0; i < intarsia_device_count(); ++i) {
      intarsia_device info{};
      info.struct_size = sizeof(info);
      check(intarsia_device_info(i, &info));
      devices.append(nb::make_tuple(std::string(info.name), std::string(info.description)));
    }
    return devices;
  });
  module.def("load_plugin", [](const std::string& path) { check(intarsia_load_plugin(path.c_str())); });
  module.def("plugins", [] {
    nb::list plugins;
    for (size_t i = 0; i < intarsia_plugin_count(); ++i) {
      intarsia_plugin_description info{};
      info.struct_size = sizeof(info);
      check(intarsia_plugin_info(i, &info));
      plugins.append(
          nb::make_tuple(std::string(info.name), std::string(info.version), std::string(info.path)));
    }
    return plugins;
  });
  intarsia_python::define_compile(module);
}
