// Report of a comparison of two tensors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "measure/compare_tensors.h"

namespace intarsia {

/// Returns an entry of `outputs` of `check --json` (docs/json.md). NaN is written as null.
inline nlohmann::ordered_json report_difference(const std::string& name, const Difference& difference) {
  using Json = nlohmann::ordered_json;
  return {{"name", name},
          {"max_abs", difference.max_abs},
          {"max_rel", difference.max_rel},
          {"ok", difference.ok},
          {"why", difference.ok ? Json(nullptr) : Json(difference.why)}};
}

}  // namespace intarsia
