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

Json plans_json(const std::vector<CheckedPlan>& plans) {
  Json list = Json::array();
  for (const CheckedPlan& plan : plans) {
    const bool is_checked = !plan.absence;
    list.push_back({{"number", plan.number},
                    {"targets", plan.targets},
                    {"ok", is_checked ? Json(plan.ok()) : Json(nullptr)},
                    {"reason", is_checked ? Json(nullptr) : Json(plan.absence->message)},
                    {"outputs", outputs_json(plan.outputs)}});
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
  json["first_bad_node"] = result.first_bad_node.empty() ? Json(nullptr) : Json(result.first_bad_node);
  json["warnings"] = result.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace intarsia
