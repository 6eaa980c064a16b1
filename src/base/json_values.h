// What readers of our JSON files have in common.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "base/result.h"

namespace intarsia {

/// It is an object and has no other keys than these. `where` says in errors what it is.
Status check_keys(const nlohmann::ordered_json& value, const std::set<std::string>& known,
                  const std::string& where);

/// The file says that it is of our version: {"intarsia_plan": 1, ...}.
Status check_version(const nlohmann::ordered_json& file, const char* key, int version);

/// For errors: what the value is; of lists and objects, which may be deep, the kind.
std::string print_value(const nlohmann::ordered_json& value);

}  // namespace intarsia
