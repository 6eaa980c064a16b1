#include <fmt/ranges.h>

#include <algorithm>

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

Json describe_operators(const std::vector<std::pair<std::string, size_t>>& operators) {
  Json counts = Json::object();
  for (const auto& [name, count] : operators) counts[name] = count;
  return counts;
}

Json describe_part(const ReplacedPart& part) {
  return {{"function", part.function},
          {"program", part.is_by_hand() ? Json(part.program) : Json()},
          {"scope", part.is_by_hand() ? Json(part.scope) : Json()},
          {"in", part.where.empty() ? Json() : Json(part.where)},
          {"signatures", part.signatures},
          {"nodes", part.nodes},
          {"operators", describe_operators(part.operators)},
          {"inputs", describe_tensors(part.call.inputs)},
          {"outputs", describe_tensors(part.call.outputs)},
          {"before_ms", part.times ? Json(milliseconds(part.times->original)) : Json()},
          {"after_ms", part.times ? Json(milliseconds(part.times->rewritten)) : Json()}};
}

Json describe_inputs(const std::vector<TimedInput>& inputs) {
  Json list = Json::array();
  for (const TimedInput& input : inputs)
    list.push_back(
        {{"name", input.name}, {"dtype", std::string(dtype_name(input.dtype))}, {"shape", input.shape}});
  return list;
}

std::string describe_kept(const KeptPart& part) {
  return fmt::format("{}: {}{}{}", fmt::join(part.signatures, ", "), part.what, part.what.empty() ? "" : ": ",
                     part.why);
}

Json describe_bytes(const ModelBytes& bytes) {
  return {{"graph", bytes.graph},
          {"variables", bytes.variables},
          {"program", bytes.program},
          {"assets", bytes.assets},
          {"other", bytes.other}};
}

Json describe_signature(const RewriteReport::Timed& timed) {
  const bool is_timed = timed.why_not.empty();
  return {{"name", timed.signature},
          {"before_ms", is_timed ? Json(milliseconds(timed.times.original)) : Json()},
          {"after_ms", is_timed ? Json(milliseconds(timed.times.rewritten)) : Json()},
          {"difference", is_timed ? Json(timed.times.difference) : Json()},
          {"inputs", is_timed ? describe_inputs(timed.times.inputs) : Json::array()},
          {"not_timed", is_timed ? Json() : Json(timed.why_not)}};
}

}  // namespace

std::vector<std::pair<std::string, size_t>> count_operators(const std::vector<std::string>& operators) {
  std::map<std::string, size_t> counts;
  for (const std::string& one : operators) ++counts[one];
  std::vector<std::pair<std::string, size_t>> counted(counts.begin(), counts.end());
  std::ranges::stable_sort(counted, std::greater(), &std::pair<std::string, size_t>::second);
  return counted;
}

Json describe_rewrite(const RewriteReport& report) {
  Json json;
  json["replaced"] = Json::array();
  for (const ReplacedPart& part : report.parts) json["replaced"].push_back(describe_part(part));
  json["kept"] = Json::array();
  for (const KeptPart& part : report.kept) json["kept"].push_back(describe_kept(part));
  json["signatures"] = Json::array();
  for (const RewriteReport::Timed& timed : report.signatures)
    json["signatures"].push_back(describe_signature(timed));
  json["dropped_variables"] = report.dropped;
  json["bytes"] = {
      {"before", report.before.total()},
      {"after", report.after.total()},
      {"program", report.after.program},
      {"files", {{"before", describe_bytes(report.before)}, {"after", describe_bytes(report.after)}}}};
  json["threads"] = report.threads;
  json["processor"] = report.processor;
  json["seconds"] = report.seconds;
  return json;
}

}  // namespace intarsia
