// C API for functions that users wrote with Halide.
#include <array>

#include "api/compile_services.h"
#include "api/handles.h"
#include "api/struct_sizes.h"
#include "base/files/output_file.h"
#include "base/files/regular_file.h"
#include "compile/export_functions.h"
#include "include/intarsia/intarsia_compile.h"

namespace intarsia::api {
namespace {

/// Reads the caller's structs, which are as large as its header says.
Result<std::vector<FunctionObject>> read_objects(const intarsia_function_object* functions, size_t count) {
  if (functions == nullptr && count > 0) return fail("the functions are a null pointer");
  std::vector<FunctionObject> objects;
  for (size_t i = 0; i < count; ++i) {
    const auto* at = reinterpret_cast<const std::byte*>(functions) + i * functions->struct_size;
    const auto given = TRY(read_struct(*reinterpret_cast<const intarsia_function_object*>(at), "a function"));
    if (given.name == nullptr || given.object == nullptr) return fail("function {} has a null pointer", i);
    objects.push_back({given.name, std::string(static_cast<const char*>(given.object), given.object_bytes)});
  }
  return objects;
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_export_functions(const intarsia_function_object* functions, size_t function_count,
                                          const char* path) {
  return guarded([&]() -> Status {
    if (path == nullptr) return fail("the path is a null pointer");
    const std::vector<FunctionObject> objects = TRY(read_objects(functions, function_count));
    TRY(check_output(path, {}));
    return export_functions(objects, TRY(open_function_compiler()), path);
  });
}

intarsia_error* intarsia_export_generators(const char* library, const char* const* generators,
                                           size_t generator_count, const char* cpu, const char* path) {
  return guarded([&]() -> Status {
    if (library == nullptr || path == nullptr) return fail("intarsia_export_generators got a null pointer");
    GeneratorRequest request{.library = library};
    if (cpu != nullptr) request.cpu = cpu;
    for (size_t i = 0; i < generator_count; ++i) {
      if (generators == nullptr || generators[i] == nullptr) return fail("generator {} is a null pointer", i);
      request.generators.emplace_back(generators[i]);
    }
    TRY(check_regular_file(library));
    TRY(check_output(path, std::array{std::string(library)}));
    const FunctionCompiler compiler = TRY(open_function_compiler());
    return export_functions(TRY(compiler.generate(request)), compiler, path);
  });
}
