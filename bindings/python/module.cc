// The extension module under the `intarsia` package: C API to Python objects, nothing else. Tensors cross as
// flat byte arrays with a dtype number and a shape; the package makes numpy arrays of them without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <intarsia/intarsia.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "compile_module.h"

namespace nb = nanobind;

namespace {

using Bytes = nb::ndarray<nb::ro, uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using intarsia::detail::check;

/// An error of the library as the exception class of its kind.
void raise_error(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const intarsia::Error& error) {
    const nb::module_ errors = nb::module_::import_("intarsia.errors");
    const nb::object type = errors.attr("BY_KIND").attr("get")(error.kind(), errors.attr("Error"));
    PyErr_SetString(type.ptr(), error.what());
  }
}

/// An input as the package hands it over. Owns the shape and, for strings and sequences, their parts.
struct Value {
  int32_t kind = INTARSIA_TENSOR;
  int32_t dtype = 0;
  std::vector<int64_t> shape;
  std::optional<Bytes> bytes;
  std::vector<nb::bytes> texts;
  std::vector<intarsia_string> strings;
  std::vector<Value> items;
  std::vector<intarsia_tensor> item_structs;

  intarsia_tensor describe(const char* name) {
    intarsia_tensor tensor{};
    tensor.struct_size = sizeof(tensor);
    tensor.name = name;
    tensor.kind = kind;
    tensor.dtype = dtype;
    tensor.rank = shape.size();
    tensor.shape = shape.data();
    for (const nb::bytes& text : texts) strings.push_back({text.c_str(), text.size()});
    tensor.data = dtype == INTARSIA_STRING ? static_cast<void*>(strings.data())
                  : bytes                  ? const_cast<uint8_t*>(bytes->data())
                                           : nullptr;
    for (Value& item : items) item_structs.push_back(item.describe(nullptr));
    tensor.items = item_structs.data();
    tensor.item_count = item_structs.size();
    return tensor;
  }
};

Value make_tensor(int32_t dtype, std::vector<int64_t> shape, Bytes bytes) {
  Value value;
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.bytes = std::move(bytes);
  return value;
}

Value make_strings(std::vector<int64_t> shape, std::vector<nb::bytes> texts) {
  Value value;
  value.dtype = INTARSIA_STRING;
  value.shape = std::move(shape);
  value.texts = std::move(texts);
  return value;
}

Value make_items(int32_t kind, std::vector<Value> items) {
  Value value;
  value.kind = kind;
  value.items = std::move(items);
  return value;
}

/// An output's memory; freed with the last array that looks into it.
using OutputOwner = std::shared_ptr<intarsia_tensor>;

size_t element_bits(int32_t dtype) {
  static constexpr size_t bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                    64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
  return dtype >= 0 && dtype < 27 ? bits[dtype] : 0;
}

/// (kind, dtype, shape, payload): payload is a byte array, a list of bytes (strings) or a list of such
/// tuples.
nb::tuple to_python(const intarsia_tensor& tensor, const OutputOwner& owner) {
  nb::list shape;
  size_t elements = 1;
  for (size_t i = 0; i < tensor.rank; ++i) {
    shape.append(tensor.shape[i]);
    elements *= static_cast<size_t>(tensor.shape[i]);
  }
  nb::list list;
  if (tensor.kind != INTARSIA_TENSOR) {
    for (size_t i = 0; i < tensor.item_count; ++i) list.append(to_python(tensor.items[i], owner));
    return nb::make_tuple(tensor.kind, tensor.dtype, shape, list);
  }
  if (tensor.dtype == INTARSIA_STRING) {
    const auto* strings = static_cast<const intarsia_string*>(tensor.data);
    for (size_t i = 0; i < elements; ++i) list.append(nb::bytes(strings[i].data, strings[i].size));
    return nb::make_tuple(tensor.kind, tensor.dtype, shape, list);
  }
  nb::capsule keeper(new OutputOwner(owner), [](void* at) noexcept { delete static_cast<OutputOwner*>(at); });
  const size_t bytes = (elements * element_bits(tensor.dtype) + 7) / 8;
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> data(tensor.data, {bytes}, keeper);
  return nb::make_tuple(tensor.kind, tensor.dtype, shape, nb::cast(data));
}

class Session {
 public:
  explicit Session(intarsia_session* session) : session_(session, intarsia_session_release) {}

  nb::dict run(const std::string& function, std::vector<std::pair<std::string, Value*>> inputs,
               const std::vector<std::string>& wanted) {
    std::vector<intarsia_tensor> given;
    for (auto& [name, value] : inputs) given.push_back(value->describe(name.c_str()));
    std::vector<intarsia_tensor> outputs;
    for (const std::string& name : wanted) {
      intarsia_tensor output{};
      output.struct_size = sizeof(output);
      output.name = name.c_str();
      outputs.push_back(output);
    }
    intarsia_error* error = nullptr;
    {
      nb::gil_scoped_release release;
      error = intarsia_session_run(session_.get(), function.empty() ? nullptr : function.c_str(),
                                   given.data(), given.size(), outputs.data(), outputs.size());
    }
    check(error);
    nb::dict results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const OutputOwner owner(new intarsia_tensor(outputs[i]), [](intarsia_tensor* tensor) {
        intarsia_tensor_release(tensor);
        delete tensor;
      });
      results[wanted[i].c_str()] = to_python(*owner, owner);
    }
    return results;
  }

 private:
  std::shared_ptr<intarsia_session> session_;
};

class Program {
 public:
  explicit Program(const std::string& path) {
    intarsia_program* program = nullptr;
    check(intarsia_program_load(path.c_str(), &program));
    program_ = std::shared_ptr<intarsia_program>(program, intarsia_program_release);
  }

  Session bind(const std::vector<std::pair<std::string, std::string>>& devices, int threads) const {
    std::vector<intarsia_binding> bindings;
    for (const auto& [slot, device] : devices) bindings.push_back({slot.c_str(), device.c_str()});
    intarsia_bind_options options{};
    options.struct_size = sizeof(options);
    options.bindings = bindings.data();
    options.binding_count = bindings.size();
    options.threads = threads;
    intarsia_session* session = nullptr;
    check(intarsia_program_bind(program_.get(), &options, &session));
    return Session(session);
  }

  /// [(function, [(name, kind, dtype, shape or None)], [the same of outputs])]
  nb::list functions() const {
    intarsia_program_info info{};
    info.struct_size = sizeof(info);
    check(intarsia_program_describe(program_.get(), &info));
    nb::list functions;
    for (size_t f = 0; f < info.function_count; ++f) {
      intarsia_function function{};
      function.struct_size = sizeof(function);
      check(intarsia_program_function(program_.get(), f, &function));
      nb::list inputs, outputs;
      for (size_t i = 0; i < function.input_count; ++i) inputs.append(argument(intarsia_program_input, f, i));
      for (size_t i = 0; i < function.output_count; ++i)
        outputs.append(argument(intarsia_program_output, f, i));
      functions.append(nb::make_tuple(std::string(function.name), inputs, outputs));
    }
    return functions;
  }

  std::string text() const { return intarsia_program_text(program_.get()); }
  void verify() const { check(intarsia_program_verify(program_.get())); }

 private:
  template <typename Describe>
  nb::tuple argument(Describe describe, size_t function, size_t number) const {
    intarsia_argument info{};
    info.struct_size = sizeof(info);
    check(describe(program_.get(), function, number, &info));
    if (info.rank < 0) return nb::make_tuple(std::string(info.name), info.kind, info.dtype, nb::none());
    nb::list shape;
    for (int64_t i = 0; i < info.rank; ++i) shape.append(info.shape[i]);
    return nb::make_tuple(std::string(info.name), info.kind, info.dtype, shape);
  }

  std::shared_ptr<intarsia_program> program_;
};

}  // namespace

NB_MODULE(_intarsia, module) {
  nb::register_exception_translator(raise_error);
  module.def("version", [] { return std::string(intarsia_version()); });
  nb::class_<Value>(module, "Value");
  module.def("tensor", make_tensor);
  module.def("strings", make_strings);
  module.def("items", make_items);
  nb::class_<Session>(module, "Session").def("run", &Session::run);
  nb::class_<Program>(module, "Program")
      .def(nb::init<const std::string&>())
      .def("bind", &Program::bind)
      .def("functions", &Program::functions)
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
  intarsia_python::define_compile(module);
}
