#include "base/json_values.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace intarsia {

using Json = nlohmann::ordered_json;

Result<Json> parse_json(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // keys seen in each open object
  std::string twice;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  constexpr bool no_exceptions = false;
  Json parsed = Json::parse(text, check, no_exceptions);
  if (parsed.is_discarded()) return fail(ErrorKind::corrupt, "it is not JSON");
  if (!twice.empty()) return fail("the key \"{}\" is there twice in one object", twice);
  return parsed;
}

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
