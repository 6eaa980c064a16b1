// C API of rewriting models for TensorFlow.
#include <nlohmann/json.hpp>

#include "api/external_tensor.h"
#include "api/give_text.h"
#include "api/handles.h"
#include "api/make_services.h"
#include "api/struct_sizes.h"
#include "api/time_in_tensorflow.h"
#include "rewrite/rewrite_model.h"

namespace intarsia::api {
namespace {

Status rewrite(const intarsia_rewrite_request& given, char** report) {
  const intarsia_rewrite_request from = TRY(read_struct(given, "the rewrite request"));
  if (from.compile == nullptr || from.compile->model == nullptr) return fail("no model to rewrite");
  if (from.output == nullptr) return fail("no folder to write; name it");
  const ReadRequest read = TRY(read_request(*from.compile));
  const CompileServices services = TRY(make_services(read));
  const RewriteRequest request{.compile = read.request,
                               .output = from.output,
                               .replaces = from.force != 0,
                               .keeps_variables = from.keep_variables != 0,
                               .threads = from.compile->threads,
                               .inputs = TRY(read_inputs(from.inputs, from.input_count))};
  const RewriteReport made = TRY(rewrite_model(request, services, make_tensorflow_timer(read.request)));
  give_text(describe_rewrite(made).dump(2), report);
  return {};
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_rewrite(const intarsia_rewrite_request* request, char** report) {
  return guarded([&]() -> Status {
    if (request == nullptr) return fail("intarsia_rewrite got a null pointer");
    return rewrite(*request, report);
  });
}
