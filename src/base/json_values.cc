#include "base/json_values.h"

#include <nlohmann/json.hpp>

namespace intarsia {

using Json = nlohmann::ordered_json;

Status check_keys(const Json& value, const std::set<std::string>& known, const std::string& where) {
  if (!value.is_object()) return fail("{}: want an object", where);
  for (const auto& [key, entry] : value.items())
    if (!known.contains(key)) return fail("{}: unknown key \"{}\"", where, key);
  return {};
}

Status check_version(const Json& file, const char* key, int version) {
  const auto found = file.find(key);
  if (found != file.end() && *found == version) return {};
  return fail("\"{}\": got {}, want {}", key, found == file.end() ? "null" : print_value(*found), version);
}

std::string print_value(const Json& value) {
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : value.dump();
}

}  // namespace intarsia
