// A region in the reference backend: the calls in order and the place of every value. Both
// halves share this form; the blob is its FlatBuffers encoding (region_plan.fbs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/attributes.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia::reference {

inline constexpr uint32_t left_out = 0xffffffff;

enum class Place : uint8_t { unused, input, output, constant, text, workspace, dynamic };

struct PlannedValue {
  std::string name;
  Place place = Place::unused;
  uint32_t index = 0;   // input, output, constant: its number in the region's list
  uint64_t offset = 0;  // workspace: bytes
  TensorView planned;   // workspace: dtype and shape, no memory
  Tensor text;          // text: the constant itself
};

struct PlannedCall {
  std::string name;
  std::string op;
  std::string domain;
  int version = 0;
  std::vector<uint32_t> inputs;  // values, or left_out
  std::vector<uint32_t> outputs;
  Attributes attributes;
  std::string library;  // path of the user's library that has the kernel; empty: one of ours
};

struct RegionPlan {
  std::vector<PlannedValue> values;
  std::vector<PlannedCall> calls;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  uint32_t constants = 0;
  uint64_t workspace_bytes = 0;
};

std::string encode_plan(const RegionPlan& plan);

/// Decodes and verifies: numbers and offsets inside their bounds, every value written once and before it is
/// read. The result can be run without further checks. The bytes need not be aligned.
Result<RegionPlan> decode_plan(std::span<const std::byte> blob);

}  // namespace intarsia::reference
