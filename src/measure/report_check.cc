#include "measure/check_model.h"
#include "measure/report_difference.h"

namespace intarsia {

namespace {

using Json = nlohmann::ordered_json;

Json outputs_json(const std::vector<CheckedOutput>& outputs) {
  Json list = Json::array();
  for (const CheckedOutput& output : outputs) {
    Json entry = report_difference(output.name, output.difference);
    const auto& change = output.sensitivity;
    entry["sensitivity"] =
        change ? Json{{"max_abs", change->max_abs}, {"max_rel", change->max_rel}, {"ok", change->ok}}
               : Json(nullptr);
    list.push_back(std::move(entry));
  }
  return list;
}

/// Returns why a plan was not compared, or does not run.
Json reason_of(const CheckedPlan& plan) {
  const std::optional<Error>& error = plan.absence ? plan.absence : plan.failure;
  return error ? Json(error->message) : Json(nullptr);
}

Json plans_json(const std::vector<CheckedPlan>& plans) {
  Json list = Json::array();
  for (const CheckedPlan& plan : plans) {
    const bool is_checked = !plan.absence;
    list.push_back({{"number", plan.number},
                    {"targets", plan.targets},
                    {"ok", is_checked ? Json(plan.ok()) : Json(nullptr)},
                    {"reason", reason_of(plan)},
                    {"outputs", outputs_json(plan.outputs)}});
  }
  return list;
}

Json sizes_json(const std::vector<CheckedSizes>& sizes) {
  Json list = Json::array();
  for (const CheckedSizes& one : sizes) {
    Json numbers = Json::object();
    for (const auto& [symbol, size] : one.sizes) numbers[symbol] = size;
    const bool is_compared = one.why_not.empty();
    list.push_back({{"sizes", std::move(numbers)},
                    {"ok", is_compared ? Json(one.ok()) : Json(nullptr)},
                    {"reason", is_compared ? Json(nullptr) : Json(one.why_not)},
                    {"plans", plans_json(one.plans)}});
  }
  return list;
}

}  // namespace

std::string report_check_json(const CheckResult& result, const CheckRequest& request) {
  Json json;
  json["ok"] = result.ok;
  json["subject"] = request.path;
  json["model"] = result.model_path;
  json["against"] = result.against;
  json["threads"] = result.threads;
  json["rtol"] = request.tolerance.rtol;
  json["atol"] = request.tolerance.atol;
  json["inputs"] = Json::array();
  for (const CheckedInput& input : result.inputs) {
    json["inputs"].push_back(
        {{"name", input.name}, {"dtype", input.dtype}, {"shape", input.shape}, {"filled", input.filled}});
  }
  json["outputs"] = outputs_json(result.outputs);
  json["plans"] = plans_json(result.plans);
  json["sizes"] = sizes_json(result.sizes);
  json["first_bad_node"] = result.first_bad_node.empty() ? Json(nullptr) : Json(result.first_bad_node);
  json["warnings"] = result.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace intarsia
