#include "program/program_size.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/byte_size.h"
#include "program/print_program.h"

namespace intarsia {
namespace {

class SizeMeter {
 public:
  explicit SizeMeter(const fbs::ProgramT& program) : program_(program) {}

  /// Returns the bytes of the function's constants that were not counted yet.
  uint64_t add(const fbs::FunctionT& function) {
    uint64_t bytes = 0;
    for (const auto& value : function.values)
      if (value->storage == fbs::Storage::constant) bytes += add_constant(value->constant);
    for (const auto& step : function.steps) {
      for (const auto& body : step->bodies) bytes += add(*body);
      if (step->kind != fbs::StepKind::run) continue;
      for (uint32_t number : program_.regions[step->region]->constants) bytes += add_constant(number);
    }
    return bytes;
  }

 private:
  uint64_t add_constant(uint32_t number) {
    const fbs::ConstantT& constant = *program_.constants[number];
    return constant.bytes > 0 && seen_.insert(constant.offset).second ? constant.bytes : 0;
  }

  const fbs::ProgramT& program_;
  std::set<uint64_t> seen_;  // offsets of counted constants
};

void add_regions(const fbs::FunctionT& function, std::set<uint32_t>& regions) {
  for (const auto& step : function.steps) {
    if (step->kind == fbs::StepKind::run) regions.insert(step->region);
    for (const auto& body : step->bodies) add_regions(*body, regions);
  }
}

/// Sums growths of the regions that the functions themselves run, by reason.
std::map<std::string, uint64_t> sum_growths(const fbs::ProgramT& program) {
  std::set<uint32_t> regions;
  for (const auto& function : program.functions) add_regions(*function, regions);
  std::map<std::string, uint64_t> growths;
  for (uint32_t region : regions)
    for (const auto& growth : program.regions[region]->growths) growths[growth->why] += growth->bytes;
  return growths;
}

std::string explain_growth(const std::string& why) {
  if (why == "winograd") return "since convolutions keep their weights transformed for Winograd";
  if (why == "padding") return "since weights are padded to whole vectors";
  return "since weights are prepared for " + why;
}

}  // namespace

ProgramSize measure_size(const fbs::ProgramT& program, uint64_t code_bytes, uint64_t file_bytes,
                         uint64_t variant_bytes) {
  ProgramSize size;
  SizeMeter meter(program);
  for (const auto& function : program.functions) size.weights += meter.add(*function);
  for (const auto& [why, bytes] : sum_growths(program)) {
    const uint64_t grown = std::min(bytes, size.weights);  // growths in the file are not verified
    size.growths.emplace_back(why, grown);
    size.weights -= grown;
  }
  uint64_t known = size.weights;
  for (const auto& [why, bytes] : size.growths) known += bytes;
  for (const auto& function : program.functions)
    for (const auto& alternative : function->alternatives) {
      size.alternatives.emplace_back(targets_of(program, *alternative), meter.add(*alternative));
      known += size.alternatives.back().second;
    }
  for (const auto& function : program.functions)
    for (const auto& specialization : function->specializations) {
      size.specializations.emplace_back(targets_of(program, *specialization), meter.add(*specialization));
      known += size.specializations.back().second;
    }
  size.code = code_bytes;
  size.variants = variant_bytes;
  size.program = file_bytes;
  size.description = size.program - std::min(size.program, known + size.code + size.variants);
  return size;
}

std::string print_size(const ProgramSize& size) {
  const uint64_t least = size.program / 100;
  std::vector<std::string> parts;
  const auto add = [&](uint64_t bytes, const std::string& what) {
    if (bytes > least) parts.push_back(fmt::format("{} {}", print_byte_size(bytes), what));
  };
  add(size.weights, "of weights");
  for (const auto& [why, bytes] : size.growths) add(bytes, "more " + explain_growth(why));
  for (const auto& [targets, bytes] : size.alternatives)
    add(bytes, "of weights for the alternative on " + targets);
  for (const auto& [targets, bytes] : size.specializations)
    add(bytes, "of weights for other sizes on " + targets);
  add(size.variants, "for other CPUs");
  add(size.code, "of code");
  add(size.description, "of description");
  return fmt::format("{}: {}", print_byte_size(size.program), fmt::join(parts, ", "));
}

}  // namespace intarsia
