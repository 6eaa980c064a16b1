// Splits a public placement problem into stages, as `compile --objective throughput` does.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files/mapped_file.h"
#include "plan/stages/split_stages.h"

namespace intarsia {
namespace {

using Json = nlohmann::json;

/// Kinds of devices in the problem, in this order, of which a file may lack one.
constexpr const char* accelerators = "acc";
constexpr const char* cores = "cpu";

struct Workload {
  StageProblem problem;
  std::vector<int64_t> ids;  // ids of the nodes in the file
};

/// Part of the file, with its place there: "nodes[2].cpuLatency".
class Part {
 public:
  Part(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Part operator[](const char* key) const {
    if (!json_.is_object()) refuse("an object");
    const auto at = json_.find(key);
    if (at == json_.end()) throw Refused(fmt::format("{}there is no \"{}\"", prefix(), key));
    return {*at, where_.empty() ? key : fmt::format("{}.{}", where_, key)};
  }

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  std::vector<Part> items() const {
    if (!json_.is_array()) refuse("a list");
    std::vector<Part> parts;
    for (size_t i = 0; i < json_.size(); ++i) parts.emplace_back(json_[i], fmt::format("{}[{}]", where_, i));
    return parts;
  }

  /// Returns a time or a size.
  double amount() const {
    constexpr double most = 1e15;
    const double number = json_.is_number() ? json_.get<double>() : -1;
    if (!(number >= 0 && number <= most)) refuse(fmt::format("a number from 0 to {:g}", most));
    return number;
  }

  int64_t integer(int64_t least, int64_t most) const {
    const bool is_in_range = json_.is_number_integer() && json_ >= least && json_ <= most;
    if (!is_in_range) refuse(fmt::format("an integer from {} to {}", least, most));
    return json_.get<int64_t>();
  }

  /// Returns a flag; both true and 1 are in use.
  bool flag() const {
    const std::string text = print();
    if (text != "true" && text != "false" && text != "1" && text != "0") refuse("true or false");
    return text == "true" || text == "1";
  }

  struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  [[noreturn]] void refuse(const std::string& wanted) const {
    constexpr size_t most = 60;
    std::string got = print();
    if (got.size() > most) got = got.substr(0, most) + "...";
    throw Refused(fmt::format("{}got {}, want {}", prefix(), got, wanted));
  }

  /// Formats the part; lists and objects by what they are, since they may be nested deeper than any stack.
  std::string print() const {
    if (json_.is_structured()) return json_.is_array() ? "a list" : "an object";
    return json_.dump(-1, ' ', true, Json::error_handler_t::replace);
  }

 private:
  std::string prefix() const { return where_.empty() ? "" : where_ + ": "; }

  const Json& json_;
  std::string where_;
};

constexpr int64_t most_devices = 1000, most_id = int64_t{1} << 53;

/// Reads what a node takes on each kind of device in the problem.
StageNode read_node(const Part& from, const StageProblem& problem) {
  StageNode node;
  for (const StageDevice& device : problem.devices) {
    const bool is_core = device.name == cores;
    const bool can_run = is_core || from["supportedOnFpga"].flag();
    node.time.push_back(can_run ? from[is_core ? "cpuLatency" : "fpgaLatency"].amount() : cannot_run);
  }
  node.bytes = from["size"].amount();
  return node;
}

void read_devices(const Part& file, StageProblem& problem) {
  const auto add = [&](StageDevice device, const char* count) {
    const auto many = static_cast<uint32_t>(file[count].integer(0, most_devices));
    if (many == 0) return;
    problem.teams.push_back({{static_cast<uint32_t>(problem.devices.size())}, many});
    problem.devices.push_back(std::move(device));
  };
  add({.name = accelerators,
       .memory = file["maxSizePerFPGA"].amount(),
       .in = {.per_byte = 1},
       .out = {.per_byte = 1},
       .copies_while_running = false},
      "maxFPGAs");
  add({.name = cores}, "maxCPUs");
}

Workload read_workload(const Part& file) {
  Workload workload;
  StageProblem& problem = workload.problem;
  read_devices(file, problem);
  std::map<int64_t, uint32_t> number_of;
  std::map<std::string, std::vector<uint32_t>> of_color;
  for (const Part& from : file["nodes"].items()) {
    const auto node = static_cast<uint32_t>(problem.nodes.size());
    workload.ids.push_back(from["id"].integer(-most_id, most_id));
    if (!number_of.emplace(workload.ids.back(), node).second)
      throw Part::Refused(fmt::format("two nodes have the id {}", workload.ids.back()));
    problem.nodes.push_back(read_node(from, problem));
    if (from.has("colorClass")) of_color[from["colorClass"].print()].push_back(node);
  }
  const auto find = [&](const Part& id) {
    const int64_t wanted = id.integer(-most_id, most_id);
    const auto at = number_of.find(wanted);
    if (at == number_of.end())
      throw Part::Refused(fmt::format("an edge is of node {}, which is not there", wanted));
    return at->second;
  };
  std::map<uint32_t, StageValue> values;
  for (const Part& edge : file["edges"].items()) {
    const uint32_t source = find(edge["sourceId"]), target = find(edge["destId"]);
    StageValue& value = values[source];
    value.producer = source;
    value.consumers.push_back(target);
    value.bytes = std::max(value.bytes, edge["cost"].amount());  // a device copies one byte in a unit of time
  }
  for (auto& [source, value] : values) problem.values.push_back(std::move(value));
  for (auto& [color, nodes] : of_color) problem.together.push_back(std::move(nodes));
  return workload;
}

Json describe(const Workload& workload, const StageSplit& split, double seconds) {
  Json assignment = Json::object();
  std::map<uint32_t, uint32_t> used;
  for (const StageSplit::Stage& stage : split.stages) {
    const std::string device = workload.problem.devices[stage.team].name + std::to_string(used[stage.team]++);
    for (uint32_t node : stage.nodes) assignment[std::to_string(workload.ids[node])] = device;
  }
  return {{"max_load", split.max_load},
          {"lower_bound", split.lower_bound},
          {"seconds", seconds},
          {"assignment", std::move(assignment)}};
}

void print_stages(const Workload& workload, const StageSplit& split, double seconds) {
  std::map<uint32_t, uint32_t> used;
  for (const StageSplit::Stage& stage : split.stages)
    std::printf("%s%u: %zu nodes, load %.4f\n", workload.problem.devices[stage.team].name.c_str(),
                used[stage.team]++, stage.nodes.size(), stage.load);
  std::printf("largest load %.4f, no split has less than %.4f; %.2f s\n", split.max_load, split.lower_bound,
              seconds);
}

Json parse(const std::string& path) {
  const Result<MappedFile> file = map_file(path);
  if (!file) throw std::runtime_error(file.error().message);
  const auto* text = reinterpret_cast<const char*>(file->bytes.data());
  try {
    return Json::parse(text, text + file->bytes.size());
  } catch (const Json::parse_error& error) {
    throw Part::Refused(
        fmt::format("it is not JSON: what is wrong ends at byte {} of {}", error.byte, file->bytes.size()));
  }
}

void run(const std::string& path, bool as_json) {
  const Json file = parse(path);
  const Workload workload = read_workload({file, ""});
  if (const Status sound = verify_stage_problem(workload.problem); !sound)
    throw Part::Refused(sound.error().message);
  const auto begin = std::chrono::steady_clock::now();
  const StageSplit split = split_stages(workload.problem);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (split.stages.empty() && !workload.problem.nodes.empty())
    throw Part::Refused("no split was found that fits the devices and their memory");
  if (as_json)
    std::puts(describe(workload, split, seconds).dump(1).c_str());
  else
    print_stages(workload, split, seconds);
}

}  // namespace
}  // namespace intarsia

int main(int count, char** words) {
  CLI::App app(
      "Splits a placement problem into stages for devices, as `intarsia compile --objective throughput` "
      "does.");
  std::string path;
  bool as_json = false;
  app.add_option("FILE", path, "A problem in the JSON of github.com/msr-fiddle/dnn-partitioning")->required();
  app.add_flag("--json", as_json, "Print the device of each node, the largest load and its bound as JSON");
  try {
    app.parse(count, words);
    intarsia::run(path, as_json);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const intarsia::Part::Refused& error) {
    std::fprintf(stderr, "error: %s: %s\n", path.c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return 1;
}
