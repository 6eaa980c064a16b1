// C API of files.
#include "api/handles.h"
#include "base/files/output_file.h"

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_output_check(const char* path, const char* const* inputs, size_t input_count) {
  return guarded([&]() -> Status {
    if (path == nullptr) return fail("intarsia_output_check got a null pointer");
    return check_output(path, std::vector<std::string>(inputs, inputs + input_count));
  });
}

intarsia_error* intarsia_output_write(const char* path, const intarsia_string* pieces, size_t piece_count) {
  return guarded([&]() -> Status {
    if (path == nullptr) return fail("intarsia_output_write got a null pointer");
    OutputFile file = TRY(OutputFile::create(path));
    for (size_t i = 0; i < piece_count; ++i)
      TRY(file.write(std::as_bytes(std::span(pieces[i].data, pieces[i].size))));
    return file.commit();
  });
}
