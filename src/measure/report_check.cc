#include "measure/check_model.h"
#include "measure/report_difference.h"

namespace intarsia {

std::string report_check_json(const CheckResult& result, const CheckRequest& request) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["ok"] = result.ok;
  json["subject"] = request.path;
  json["model"] = result.model_path;
  json["against"] = result.against;
  json["rtol"] = request.tolerance.rtol;
  json["atol"] = request.tolerance.atol;
  json["inputs"] = Json::array();
  for (const CheckedInput& input : result.inputs) {
    json["inputs"].push_back(
        {{"name", input.name}, {"dtype", input.dtype}, {"shape", input.shape}, {"filled", input.filled}});
  }
  json["outputs"] = Json::array();
  for (const CheckedOutput& output : result.outputs) {
    Json entry = report_difference(output.name, output.difference);
    const auto& change = output.sensitivity;
    entry["sensitivity"] =
        change ? Json{{"max_abs", change->max_abs}, {"max_rel", change->max_rel}, {"ok", change->ok}}
               : Json(nullptr);
    json["outputs"].push_back(std::move(entry));
  }
  json["first_bad_node"] = result.first_bad_node.empty() ? Json(nullptr) : Json(result.first_bad_node);
  json["warnings"] = result.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace intarsia
