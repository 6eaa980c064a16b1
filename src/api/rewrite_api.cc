// C API of rewriting models for TensorFlow.
#include <nlohmann/json.hpp>

#include "api/external_tensor.h"
#include "api/give_text.h"
#include "api/handles.h"
#include "api/make_services.h"
#include "api/read_request.h"
#include "api/struct_sizes.h"
#include "api/time_in_tensorflow.h"
#include "report/rewrite_html.h"
#include "rewrite/rewrite_model.h"

namespace intarsia::api {
namespace {

/// Reads "SCOPE=PROGRAM:FUNCTION". TensorFlow's names have no equals signs.
Result<Replacement> read_replacement(const std::string& text) {
  const size_t equals = text.find('='), slash = text.rfind('/');
  size_t colon = text.rfind(':');
  if (colon != std::string::npos && slash != std::string::npos && colon < slash) colon = std::string::npos;
  if (equals == std::string::npos || equals == 0 || (colon != std::string::npos && colon < equals))
    return fail("--replace {}: want SCOPE=PROGRAM:FUNCTION, as in dense/MatMul=fast.so:product", text);
  Replacement replacement{
      .scope = text.substr(0, equals), .program = text.substr(equals + 1), .function = {}};
  if (colon == std::string::npos) return replacement;
  replacement.function = text.substr(colon + 1);
  replacement.program = text.substr(equals + 1, colon - equals - 1);
  return replacement;
}

Status fill_report(intarsia_rewrite_report& to, const RewriteReport& report, const RewriteRequest& request) {
  intarsia_rewrite_report made{};
  give_text(describe_rewrite(report).dump(2), &made.json);
  give_text(rewrite_html(report, request.compile.model_path, request.output), &made.html);
  return fill_struct(&to, made);
}

Status rewrite(const intarsia_rewrite_request& given, intarsia_rewrite_report* report) {
  if (report != nullptr) TRY(check_size<intarsia_rewrite_report>(report->struct_size, "the report"));
  const intarsia_rewrite_request from = TRY(read_struct(given, "the rewrite request"));
  if (from.compile == nullptr || from.compile->model == nullptr) return fail("no model to rewrite");
  if (from.output == nullptr) return fail("no folder to write; name it");
  const ReadRequest read = TRY(read_one_cpu(*from.compile, "parts of a rewritten model"));
  if (read.request.precision == Precision::automatic)
    return fail("--precision auto: a rewrite measures no error of rounding alone; use bf16, f16 or f32");
  const CompileServices services = TRY(make_services(read));
  std::vector<Replacement> replacements;
  for (const std::string& text : TRY(read_strings(from.replacements, "--replace")))
    replacements.push_back(TRY(read_replacement(text)));
  const RewriteRequest request{.compile = read.request,
                               .output = from.output,
                               .replaces = from.force != 0,
                               .keeps_variables = from.keep_variables != 0,
                               .threads = from.compile->threads,
                               .inputs = TRY(read_inputs(from.inputs, from.input_count)),
                               .replacements = std::move(replacements)};
  const RewriteReport made = TRY(rewrite_model(request, services, make_tensorflow_timer(read.request)));
  return report == nullptr ? Status() : fill_report(*report, made, request);
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_rewrite(const intarsia_rewrite_request* request, intarsia_rewrite_report* report) {
  return guarded([&]() -> Status {
    if (request == nullptr) return fail("intarsia_rewrite got a null pointer");
    return rewrite(*request, report);
  });
}
