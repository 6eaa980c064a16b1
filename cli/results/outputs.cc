#include "cli/results/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <intarsia/intarsia.hpp>

#include "cli/inputs/npy.h"
#include "cli/system/files.h"

namespace {

/// Formats the first elements of common types: "= 0.1, 0.2, 0.3, 0.4, ...".
std::string preview(const intarsia_tensor& tensor) {
  constexpr size_t most = 4;
  const auto count = static_cast<size_t>(count_elements({tensor.shape, tensor.shape + tensor.rank}));
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(count, most); ++i) {
    switch (tensor.dtype) {
      case INTARSIA_F32:
        parts.push_back(fmt::format("{:.6g}", static_cast<const float*>(tensor.data)[i]));
        break;
      case INTARSIA_F64:
        parts.push_back(fmt::format("{:.6g}", static_cast<const double*>(tensor.data)[i]));
        break;
      case INTARSIA_I32:
        parts.push_back(fmt::format("{}", static_cast<const int32_t*>(tensor.data)[i]));
        break;
      case INTARSIA_I64:
        parts.push_back(fmt::format("{}", static_cast<const int64_t*>(tensor.data)[i]));
        break;
      case INTARSIA_BOOL:
        parts.push_back(static_cast<const char*>(tensor.data)[i] != 0 ? "true" : "false");
        break;
      default:
        return "";
    }
  }
  return fmt::format("= {}{}", fmt::join(parts, ", "), count > most ? ", ..." : "");
}

}  // namespace

OutputWriter::OutputWriter(std::string folder, std::vector<std::string> inputs)
    : folder_(std::move(folder)), inputs_(std::move(inputs)) {
  std::error_code error;
  if (!folder_.empty()) std::filesystem::create_directories(folder_, error);
  if (error) throw intarsia::Error(folder_ + ": cannot create the folder: " + error.message());
}

Json OutputWriter::write(const std::string& name, const intarsia_tensor& tensor) {
  Json entry{{"name", name}};
  entry.update(describe_tensor(tensor));
  entry["file"] = nullptr;
  if (tensor.kind != INTARSIA_TENSOR) {
    entry["items"] = Json::array();
    for (size_t i = 0; i < tensor.item_count; ++i)
      entry["items"].push_back(write(fmt::format("{}.{}", name, i), tensor.items[i]));
  } else if (!folder_.empty()) {
    const std::string file = (std::filesystem::path(folder_) / (names_.make(name) + ".npy")).string();
    check_output(file, inputs_);
    write_npy(file, tensor);
    entry["file"] = file;
  }
  return entry;
}

std::string print_input(const Json& input) {
  const Json conversion = input.value("conversion", Json(nullptr));
  const std::string how = input["filled"].get<bool>() ? "not given: filled with seeded values"
                          : conversion.is_null()      ? ""
                                                      : conversion.get<std::string>();
  return fmt::format("input  {}: {}{}\n", input["name"].get<std::string>(), print_type(input),
                     how.empty() ? "" : " (" + how + ")");
}

std::string print_output(const Json& output, const intarsia_tensor& tensor) {
  const auto name = output["name"].get<std::string>();
  if (output["dtype"].is_null())
    return fmt::format("output {}: {}\n", name, count_of(output["items"].size(), "item"));
  std::string text = fmt::format("output {}: {} {}\n", name, print_type(output), preview(tensor));
  if (!output["file"].is_null()) text += fmt::format("       in {}\n", output["file"].get<std::string>());
  return text;
}

double quantile(std::vector<double> numbers, double share) {
  const auto last = static_cast<double>(numbers.size() - 1);
  const auto at = numbers.begin() + static_cast<ptrdiff_t>(share * last + 0.5);
  std::nth_element(numbers.begin(), at, numbers.end());
  return *at;
}
