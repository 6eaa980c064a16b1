#include "backends/onnxruntime/profile_model.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files/temporary_folder.h"

namespace intarsia::ort {
namespace {

using Json = nlohmann::json;

constexpr int profile_runs = 5;

Status run_once(const ModelSession& session, std::span<const Value* const> inputs) {
  std::vector<Value*> outputs(session.outputs().size(), nullptr);
  TRY(session.run(inputs, outputs));
  for (Value* output : outputs) OwnedValue(output, {&session.library()});
  return {};
}

/// Returns a name without the library's endings: a convolution in the library's own layout is named after the
/// value that it makes, a product fused with an addition after the product.
std::string_view source_name(std::string_view name) {
  for (std::string_view ending : {"_kernel_time", "_nchwc", "/MatMulAddFusion"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return name;
}

/// Reads a list of events; each run of an operator has one, whose name is that of its node with an ending.
Result<std::vector<OperatorTime>> read_profile(const std::string& path) {
  constexpr std::string_view ending = "_kernel_time";
  std::ifstream file(path);
  const Json events = Json::parse(file, nullptr, false);
  if (!events.is_array()) return fail("the profile '{}' is not a list of events", path);
  std::vector<OperatorTime> times;
  for (const Json& event : events) {
    const std::string name = event.value("name", "");
    if (event.value("cat", "") != "Node" || !name.ends_with(ending)) continue;
    const Json arguments = event.value("args", Json::object());
    const std::string label = fmt::format("{}: {}", source_name(name), arguments.value("op_name", "?"));
    const int64_t nanoseconds = 1000 * event.value("dur", int64_t{0});
    const auto known = std::ranges::find(times, label, &OperatorTime::label);
    if (known == times.end())
      times.push_back({label, nanoseconds});
    else
      known->nanoseconds = std::min(known->nanoseconds, nanoseconds);
  }
  return times;
}

}  // namespace

Result<std::vector<OperatorTime>> profile_model(std::string_view model, SessionSettings settings,
                                                std::span<const Value* const> inputs) {
  const TemporaryFolder folder = TRY(TemporaryFolder::make("intarsia-profile"));
  settings.profile = folder / "run";
  const auto session = TRY(ModelSession::from_bytes(model, settings));
  for (int i = 0; i < profile_runs; ++i) TRY(run_once(*session, inputs));
  return read_profile(TRY(session->end_profiling()));
}

}  // namespace intarsia::ort
