// C API for functions that users wrote with Halide.
#include <array>

#include "api/compile_services.h"
#include "api/handles.h"
#include "api/read_request.h"
#include "api/run_backends.h"
#include "api/struct_sizes.h"
#include "base/files/output_file.h"
#include "base/files/regular_file.h"
#include "include/intarsia/intarsia_compile.h"
#include "measure/choose_functions.h"

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

Status export_fastest(const ReadRequest& read, std::vector<FunctionObject> objects,
                      const FunctionCompiler& compiler) {
  const std::vector<FunctionObject> chosen =
      TRY(choose_functions(std::move(objects), compiler, run_backends(), read.request, read.is_cancelled));
  return export_functions(chosen, compiler, read.request);
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_export_functions(const intarsia_compile_request* request,
                                          const intarsia_function_object* functions, size_t function_count) {
  return guarded([&]() -> Status {
    if (request == nullptr || request->program == nullptr)
      return fail("intarsia_export_functions got a null pointer");
    const ReadRequest read = TRY(read_one_cpu(*request, "functions"));
    TRY(check_output(read.request.program_path, {}));
    return export_fastest(read, TRY(read_objects(functions, function_count)), TRY(open_function_compiler()));
  });
}

intarsia_error* intarsia_export_generators(const intarsia_compile_request* request, const char* library,
                                           const char* const* generators, size_t generator_count) {
  return guarded([&]() -> Status {
    if (request == nullptr || request->program == nullptr || library == nullptr)
      return fail("intarsia_export_generators got a null pointer");
    const ReadRequest read = TRY(read_one_cpu(*request, "functions"));
    GeneratorRequest wanted{.library = library, .cpu = read.request.cpu};
    for (size_t i = 0; i < generator_count; ++i) {
      if (generators == nullptr || generators[i] == nullptr) return fail("generator {} is a null pointer", i);
      wanted.generators.emplace_back(generators[i]);
    }
    TRY(check_regular_file(library));
    TRY(check_output(read.request.program_path, std::array{std::string(library)}));
    const FunctionCompiler compiler = TRY(open_function_compiler());
    return export_fastest(read, TRY(compiler.generate(wanted)), compiler);
  });
}
