#include "target/cost_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/dtype.h"
#include "base/json_values.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* version_key = "intarsia_costs";
constexpr int cost_file_version = 1;
constexpr double nanosecond = 1e-9, longest = 1e6;  // seconds
constexpr double nanoseconds_of_a_second = 1e9;
constexpr int most_threads = 1024;

double to_seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / nanoseconds_of_a_second; }
int64_t to_nanoseconds(double seconds) { return std::llround(seconds * nanoseconds_of_a_second); }

Json print_kernel(const CostKey& key, const Cost& cost) {
  return {{"digest", key.digest},
          {"threads", key.threads},
          {"precision", key.precision},
          {"seconds", to_seconds(cost.timing.nanoseconds)},
          {"spread", cost.timing.spread},
          {"probe_seconds", to_seconds(cost.probe_nanoseconds)},
          {"at", cost.at}};
}

/// Returns the member of an object; null if it has none.
const Json* find_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

tl::unexpected<Error> wrong(const char* key, const Json* got, std::string_view want) {
  return fail("\"{}\": got {}, want {}", key, got == nullptr ? "nothing" : print_value(*got), want);
}

/// Reads a text of one line.
Result<std::string> read_text(const Json& object, const char* key) {
  constexpr size_t longest_text = 1000;
  const Json* value = find_member(object, key);
  constexpr auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (value == nullptr || !value->is_string()) return wrong(key, value, "a text");
  const std::string text = *value;
  if (text.empty() || text.size() > longest_text || std::ranges::any_of(text, is_control))
    return wrong(key, value, "a text of one line, not empty");
  return text;
}

/// Reads a number; `otherwise` if the object lacks it.
Result<double> read_number(const Json& object, const char* key, double least, double most,
                           std::optional<double> otherwise = {}) {
  const Json* value = find_member(object, key);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr || !value->is_number() || !(value->get<double>() >= least) ||
      value->get<double>() > most)
    return wrong(key, value, fmt::format("a number from {:g} to {:g}", least, most));
  return value->get<double>();
}

Result<std::string> read_digest(const Json& object) {
  const std::string digest = TRY(read_text(object, "digest"));
  constexpr auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digest.size() != 32 || !std::ranges::all_of(digest, is_digit))
    return wrong("digest", find_member(object, "digest"), "32 hexadecimal digits");
  return digest;
}

Result<std::pair<CostKey, Cost>> read_kernel(const Json& object, const CostFile& file) {
  TRY(check_keys(object, {"digest", "threads", "precision", "seconds", "spread", "probe_seconds", "at"},
                 "it"));
  CostKey key{.digest = TRY(read_digest(object)),
              .backend = file.backend,
              .version = file.version,
              .code = file.code,
              .device = "cpu",
              .precision = TRY(read_text(object, "precision"))};
  const double threads = TRY(read_number(object, "threads", 1, most_threads));
  if (threads != std::floor(threads)) return wrong("threads", find_member(object, "threads"), "an integer");
  key.threads = static_cast<int>(threads);
  if (!parse_dtype(key.precision))
    return wrong("precision", find_member(object, "precision"), "a type, as in \"f32\"");
  Cost cost = cost_measured_now(0);
  constexpr double longest_age = 1e14;  // milliseconds
  cost.timing.nanoseconds = to_nanoseconds(TRY(read_number(object, "seconds", nanosecond, longest)));
  cost.timing.spread = TRY(read_number(object, "spread", 0, longest, 0));
  cost.probe_nanoseconds = to_nanoseconds(TRY(read_number(object, "probe_seconds", 0, longest, 0)));
  cost.at =
      static_cast<int64_t>(TRY(read_number(object, "at", 0, longest_age, static_cast<double>(cost.at))));
  return std::pair(std::move(key), cost);
}

Status read_machine(const Json& json, CostFile& file) {
  const Json* machine = find_member(json, "machine");
  if (machine == nullptr) return wrong("machine", machine, "an object");
  TRY(check_keys(*machine, {"name", "architecture"}, "\"machine\""));
  file.machine = TRY(with_context(read_text(*machine, "name"), "\"machine\""));
  file.architecture = TRY(with_context(read_text(*machine, "architecture"), "\"machine\""));
  file.cpu = TRY(read_text(json, "cpu"));
  return {};
}

Status read_generator(const Json& json, CostFile& file) {
  const Json* generator = find_member(json, "generator");
  if (generator == nullptr) return wrong("generator", generator, "an object");
  TRY(check_keys(*generator, {"backend", "version", "code"}, "\"generator\""));
  for (const auto& [key, text] : {std::pair("backend", &file.backend), std::pair("version", &file.version),
                                  std::pair("code", &file.code)})
    *text = TRY(with_context(read_text(*generator, key), "\"generator\""));
  return {};
}

}  // namespace

std::string print_cost_file(const CostFile& file) {
  Json kernels = Json::array();
  for (const auto& [key, cost] : file.kernels) kernels.push_back(print_kernel(key, cost));
  const Json json{{version_key, cost_file_version},
                  {"machine", {{"name", file.machine}, {"architecture", file.architecture}}},
                  {"cpu", file.cpu},
                  {"generator", {{"backend", file.backend}, {"version", file.version}, {"code", file.code}}},
                  {"kernels", kernels}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<CostFile> read_cost_file(std::string_view text) {
  const Json json = TRY(parse_json(text));
  if (!json.is_object()) return fail("want an object, got {}", print_value(json));
  TRY(check_version(json, version_key, cost_file_version));
  TRY(check_keys(json, {version_key, "machine", "cpu", "generator", "kernels"}, "the file"));
  CostFile file;
  TRY(read_machine(json, file));
  TRY(read_generator(json, file));
  const Json* kernels = find_member(json, "kernels");
  if (kernels == nullptr || !kernels->is_array() || kernels->empty())
    return wrong("kernels", kernels, "a list of kernels, not empty");
  std::set<CostKey> seen;
  for (const Json& kernel : *kernels) {
    file.kernels.push_back(TRY(with_context(read_kernel(kernel, file), "kernel {}", file.kernels.size())));
    if (!seen.insert(file.kernels.back().first).second)
      return fail("kernel {}: its digest {} is there twice for {} threads", file.kernels.size() - 1,
                  file.kernels.back().first.digest, file.kernels.back().first.threads);
  }
  return file;
}

}  // namespace intarsia
