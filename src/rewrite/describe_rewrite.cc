#include <nlohmann/json.hpp>

#include "rewrite/rewrite_model.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

Json describe_tensors(const std::vector<ExchangedTensor>& tensors) {
  Json list = Json::array();
  for (const ExchangedTensor& tensor : tensors) list.push_back(tensor.source);
  return list;
}

Json describe_part(const ReplacedPart& part) {
  return {{"function", part.function},
          {"program", part.is_by_hand() ? Json(part.program) : Json()},
          {"scope", part.is_by_hand() ? Json(part.scope) : Json()},
          {"in", part.where.empty() ? Json() : Json(part.where)},
          {"signatures", part.signatures},
          {"nodes", part.nodes},
          {"inputs", describe_tensors(part.call.inputs)},
          {"outputs", describe_tensors(part.call.outputs)},
          {"before_ms", part.times ? Json(milliseconds(part.times->original)) : Json()},
          {"after_ms", part.times ? Json(milliseconds(part.times->rewritten)) : Json()}};
}

Json describe_signature(const RewriteReport::Timed& timed) {
  const bool is_timed = timed.why_not.empty();
  return {{"name", timed.signature},
          {"before_ms", is_timed ? Json(milliseconds(timed.times.original)) : Json()},
          {"after_ms", is_timed ? Json(milliseconds(timed.times.rewritten)) : Json()},
          {"difference", is_timed ? Json(timed.times.difference) : Json()},
          {"not_timed", is_timed ? Json() : Json(timed.why_not)}};
}

}  // namespace

Json describe_rewrite(const RewriteReport& report) {
  Json json;
  json["replaced"] = Json::array();
  for (const ReplacedPart& part : report.parts) json["replaced"].push_back(describe_part(part));
  json["kept"] = report.kept;
  json["signatures"] = Json::array();
  for (const RewriteReport::Timed& timed : report.signatures)
    json["signatures"].push_back(describe_signature(timed));
  json["dropped_variables"] = report.dropped;
  json["bytes"] = {
      {"before", report.bytes_before}, {"after", report.bytes_after}, {"program", report.program_bytes}};
  json["seconds"] = report.seconds;
  return json;
}

}  // namespace intarsia
