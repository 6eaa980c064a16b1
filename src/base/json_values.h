// Common functions of the readers of our JSON files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Parses a text. Errors: it is not JSON (ErrorKind::corrupt), or an object has a key twice, which would lose
/// a value.
Result<nlohmann::ordered_json> parse_json(std::string_view text);

/// Checks that the value is an object without unknown keys. `where` names the value in errors.
Status check_keys(const nlohmann::ordered_json& value, const std::set<std::string>& known,
                  const std::string& where);

/// Checks that the file states our version: {"intarsia_plan": 1, ...}.
Status check_version(const nlohmann::ordered_json& file, const char* key, int version);

/// Prints a value for errors; for lists and objects, which may be deep, only the kind.
std::string print_value(const nlohmann::ordered_json& value);

}  // namespace intarsia
