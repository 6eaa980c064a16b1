#include "cli/results/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/text/short_names.h"
#include "cli/usage/help.h"

namespace {

constexpr size_t default_rows = 20;

Json or_null(uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); }

/// Returns a count per nanosecond, which is the same number as billions per second.
Json per_nanosecond(uint64_t count, uint64_t nanoseconds) {
  if (count == 0 || nanoseconds == 0) return nullptr;
  return static_cast<double>(count) / static_cast<double>(nanoseconds);
}

Json share_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? Json(nullptr) : Json(static_cast<double>(part) / static_cast<double>(whole));
}

Json describe_entry(const intarsia::ProfileEntry& entry, uint64_t run_ns) {
  Json nodes = Json::array();
  for (const auto& [name, op] : entry.nodes) nodes.push_back({{"name", name}, {"op", op}});
  const bool has_dtype = entry.dtype != INTARSIA_UNDEFINED;
  return {{"kind", entry.kind},
          {"name", entry.name},
          {"target", entry.target},
          {"time_ns", entry.time_ns},
          {"share", share_of(entry.time_ns, run_ns)},
          {"nodes", nodes},
          {"dtype", has_dtype ? Json(dtype_name(entry.dtype)) : Json(nullptr)},
          {"shape", entry.shape_known ? Json(entry.shape) : Json(nullptr)},
          {"weights_shape", entry.weights_shape.empty() ? Json(nullptr) : Json(entry.weights_shape)},
          {"flops", or_null(entry.flops)},
          {"bytes", or_null(entry.bytes)},
          {"gflops_per_s", per_nanosecond(entry.flops, entry.time_ns)},
          {"gb_per_s", per_nanosecond(entry.bytes, entry.time_ns)},
          {"algorithm", entry.algorithm.empty() ? Json(nullptr) : Json(entry.algorithm)}};
}

std::string print_shape(const Json& shape) {
  if (shape.is_null()) return {};
  return fmt::format("{}", fmt::join(shape.get<std::vector<int64_t>>(), "x"));
}

/// Formats a rate: "98.1 GFLOP/s".
std::string print_rate(const Json& entry) {
  const bool has_flops = !entry["gflops_per_s"].is_null();
  const Json& rate = entry[has_flops ? "gflops_per_s" : "gb_per_s"];
  if (rate.is_null()) return {};
  return fmt::format("{:.1f} {}", rate.get<double>(), has_flops ? "GFLOP/s" : "GB/s   ");
}

/// Splits "conv1: Conv Relu" into "conv1" and "Conv Relu".
std::pair<std::string, std::string> split_label(const std::string& label) {
  const size_t at = label.rfind(": ");
  if (at == std::string::npos) return {"", label};
  return {label.substr(0, at), label.substr(at + 2)};
}

/// Returns "winograd 4x4, tile 6x32, threads by rows", or as many parts of it as there is room for. The
/// algorithm of what a framework does is its operator.
std::string algorithm_of(const Json& entry, size_t width = std::string::npos) {
  if (entry["algorithm"].is_null())
    return entry["kind"] == "operator" ? split_label(entry["name"]).second : entry["kind"].get<std::string>();
  std::string text = entry["algorithm"];
  for (size_t end = text.rfind(", "); text.size() > width && end != std::string::npos; end = text.rfind(", "))
    text.resize(end);
  return text;
}

/// Returns the node's name in a label, which may be the whole label.
std::string name_of(const std::string& label) {
  return label.find(' ') == std::string::npos ? label : split_label(label).first;
}

/// Returns only the node's name of a label where there is one: it says enough without operators.
std::string shortest_label(const std::string& label) {
  const std::string name = name_of(label);
  return name.empty() ? label : name;
}

/// Returns what a row computes, without a framework's operator where the algorithm column has it.
std::string label_of(const Json& entry, bool has_algorithm) {
  const std::string label = entry["name"], name = name_of(label);
  return has_algorithm && entry["kind"] == "operator" && !name.empty() ? name : label;
}

/// Returns what runs a row, without the device if that says nothing.
std::string target_of(const Json& entry, bool has_devices) {
  const std::string target = entry["target"];
  return has_devices ? target : target.substr(0, target.find('@'));
}

/// Checks whether the rows differ in a part of their targets.
bool has_several(const Json& entries, const std::function<std::string(const std::string&)>& part) {
  std::set<std::string> found;
  for (const Json& entry : entries) found.insert(part(entry["target"]));
  return found.size() > 1;
}

struct Columns {
  size_t rate = 0, kernel = 0, shape = 0, algorithm = 0, target = 0;  // width of each column; 0 if it is left
                                                                      // out
};

/// Table whose columns of words share the width that the numbers leave, by what the rows need. Where there is
/// not enough of it, first the shape is left out, then the algorithm: names that say nothing are of no use.
class Table {
 public:
  Table(const Json& profile, size_t rows, size_t width) : profile_(profile), rows_(rows) {
    is_micro_ = profile["run_ns"].get<uint64_t>() < 1'000'000;
    const Json& entries = profile["entries"];
    has_devices_ =
        has_several(entries, [](const std::string& target) { return target.substr(target.find('@') + 1); });
    columns_.rate = widest([](const Json& entry) { return print_rate(entry); }, 0, 13);
    columns_.shape = widest([](const Json& entry) { return print_shape(entry["shape"]); }, 6, 16);
    if (has_several(entries, [](const std::string& target) { return target; }))
      columns_.target = widest([&](const Json& entry) { return target_of(entry, has_devices_); }, 6, 15);
    divide(width);
  }

  std::string print() const {
    std::vector<std::string> names;
    for (const Json& entry : profile_["entries"]) names.push_back(name_of(entry["name"]));
    const NameShortener shortener(names);
    std::string text = fmt::format("{:>8} {:>5}", is_micro_ ? "us" : "ms", "%");
    if (columns_.rate > 0) text += fmt::format("  {:>{}}", "rate   ", columns_.rate);
    text = trimmed(text + print_words("kernel", "output", "algorithm", has_devices_ ? "target" : "backend"));
    for (size_t i = 0; i < rows_; ++i) text += print_row(profile_["entries"][i], shortener);
    return text + print_rest() + print_sums();
  }

 private:
  static constexpr size_t times_width = 8 + 1 + 5, gap = 2;

  void divide(size_t width) {
    constexpr size_t legible = 24, least_algorithm = 9;
    const auto taken = [](size_t column) { return column > 0 ? gap + column : 0; };
    const size_t names =
        widest([](const Json& entry) { return label_of(entry, true); }, 6, std::string::npos);
    const size_t least = std::min(
        widest([](const Json& entry) { return shortest_label(entry["name"]); }, 6, std::string::npos),
        legible);
    size_t fixed = times_width + gap + taken(columns_.rate) + taken(columns_.target);
    if (fixed + least + taken(columns_.shape) > width) columns_.shape = 0;
    fixed += taken(columns_.shape);
    const size_t room = std::max(width, fixed + least) - fixed;
    const size_t spare = std::max(room - std::min(names, room), std::min<size_t>(14, room - least));
    if (spare >= gap + least_algorithm)
      columns_.algorithm = widest([&](const Json& entry) { return algorithm_of(entry, spare - gap); },
                                  least_algorithm, spare - gap);
    columns_.kernel = std::min(names, room - taken(columns_.algorithm));
  }

  /// Formats the columns of words, each with its gap.
  std::string print_words(const std::string& kernel, const std::string& shape, const std::string& algorithm,
                          const std::string& target) const {
    std::string text = "  " + fit(kernel, columns_.kernel);
    for (const auto& [word, column] : {std::pair(shape, columns_.shape), std::pair(target, columns_.target),
                                       std::pair(algorithm, columns_.algorithm)}) {
      if (column > 0) text += "  " + fit(word, column);
    }
    return text;
  }

  /// Returns the width of the longest text of a row, within `least` and `most`.
  template <typename Text>
  size_t widest(Text text, size_t least, size_t most) const {
    size_t width = least;
    for (size_t i = 0; i < rows_; ++i)
      width = std::max(width, count_characters(text(profile_["entries"][i])));
    return std::min(width, most);
  }

  static std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  std::string print_time(double nanoseconds) const {
    return is_micro_ ? fmt::format("{:>8.2f}", nanoseconds / 1e3)
                     : fmt::format("{:>8.3f}", nanoseconds / 1e6);
  }

  std::string print_part(double nanoseconds) const {
    return fmt::format("{} {:>5.1f}", print_time(nanoseconds),
                       100 * nanoseconds / std::max(profile_["run_ns"].get<double>(), 1.0));
  }

  std::string print_row(const Json& entry, const NameShortener& shortener) const {
    std::string line = print_part(entry["time_ns"].get<double>());
    if (columns_.rate > 0) line += fmt::format("  {:>{}}", print_rate(entry), columns_.rate);
    return trimmed(line + print_words(print_label(label_of(entry, columns_.algorithm > 0), shortener),
                                      print_shape(entry["shape"]), algorithm_of(entry, columns_.algorithm),
                                      target_of(entry, has_devices_)));
  }

  /// Formats the name and the operators or, where there is no room for both, the name.
  std::string print_label(const std::string& label, const NameShortener& shortener) const {
    const std::string name = name_of(label);
    const bool has_room = name.empty() || count_characters(label) <= columns_.kernel;
    return has_room ? label : shortener.shorten(name, columns_.kernel);
  }

  /// Formats the sum of the rows left out: "   1.234   5.0  … 52 more (--all-rows)".
  std::string print_rest() const {
    double rest = 0;
    for (size_t i = rows_; i < profile_["entries"].size(); ++i)
      rest += profile_["entries"][i]["time_ns"].get<double>();
    const size_t count = profile_["entries"].size() - rows_;
    return count == 0 ? "" : fmt::format("{}  … {} more (--all-rows)\n", print_part(rest), count);
  }

  std::string print_sums() const {
    double flops = 0;
    for (const Json& entry : profile_["entries"])
      flops += entry["flops"].is_null() ? 0 : entry["flops"].get<double>();
    const auto run = profile_["run_ns"].get<double>(), kernels = profile_["entries_ns"].get<double>();
    std::string text = fmt::format("{}  all of these", print_part(kernels));
    if (flops > 0) text += fmt::format(": {:.4g} GFLOP, {:.1f} GFLOP/s", flops / 1e9, flops / kernels);
    text += fmt::format("\n{}  between them\n", print_part(profile_["between_ns"].get<double>()));
    text += fmt::format("{}  the run, the mean of the faster half of {}\n", print_part(run),
                        count_of(profile_["runs"].get<size_t>(), "run"));
    if (columns_.shape == 0 || columns_.algorithm == 0)
      text += fmt::format("(no room for {}: a wider terminal has it, and --json)\n",
                          columns_.algorithm == 0 && columns_.shape == 0 ? "output and algorithm"
                          : columns_.shape == 0                          ? "output"
                                                                         : "algorithm");
    return has_winograd() ? text + "(rates of winograd count the products of the direct algorithm)\n" : text;
  }

  bool has_winograd() const {
    for (size_t i = 0; i < rows_; ++i) {
      if (algorithm_of(profile_["entries"][i]).rfind("winograd", 0) == 0) return true;
    }
    return false;
  }

  const Json& profile_;
  size_t rows_;
  bool is_micro_ = false;     // whether times are in microseconds
  bool has_devices_ = false;  // whether there are several devices
  Columns columns_;
};

}  // namespace

void add_profile_options(CLI::App& command, ProfileOptions& options) {
  CLI::Option* profile = command.add_flag(
      "--profile", options.wanted, "Also show what the time goes to, kernel by kernel, in runs of its own");
  profile->group(help_group::insight);
  command
      .add_flag("--all-rows", options.all_rows, "With --profile: all kernels, not only the 20 that take most")
      ->needs(profile)
      ->group(help_group::insight);
}

Json describe_profile(const intarsia::Profile& profile) {
  Json entries = Json::array();
  uint64_t sum = 0;
  for (const intarsia::ProfileEntry& entry : profile.entries) {
    entries.push_back(describe_entry(entry, profile.run_ns));
    sum += entry.time_ns;
  }
  return {{"runs", profile.runs},
          {"run_ns", profile.run_ns},
          {"entries_ns", sum},
          {"between_ns", profile.run_ns - std::min(sum, profile.run_ns)},
          {"entries", entries}};
}

std::string print_profile(const Json& profile, bool all_rows, size_t width) {
  const size_t count = profile["entries"].size();
  return Table(profile, all_rows ? count : std::min(count, default_rows), width).print();
}
