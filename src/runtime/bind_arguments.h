// Binder of a run's arguments: checks them and puts their addresses where the steps look for them.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "program/program.h"
#include "runtime/argument_names.h"
#include "runtime/bind_sizes.h"
#include "runtime/named_tensor.h"

namespace intarsia {

struct ValueState;

class ArgumentBinder {
 public:
  /// Makes a binder, which both must outlive. `values` is indexed as function.values.
  ArgumentBinder(const fbs::FunctionT& function, std::span<ValueState> values);

  /// Lets the buffer of an output that continues an input begin at the input's address. The step that writes
  /// it leaves the input's bytes in place if `can_append` says so, by value; other steps write memory of
  /// ours.
  void append_in_place(std::vector<bool> can_append) { can_append_ = std::move(can_append); }
  /// Binds the inputs, whose shapes tell the open sizes of the run. Every error names the argument.
  Status bind_inputs(std::span<const NamedTensor> inputs);
  /// Binds the outputs, once the shapes of their values are those of the run.
  Status bind_outputs(std::span<NamedTensor> outputs);
  /// Hands over dynamic outputs after the steps, and copies into buffers that the steps could not write
  /// directly.
  Status hand_over(std::span<NamedTensor> outputs);

  /// Returns the open sizes of the current run, at the same place in all runs.
  OpenSizes open_sizes() const { return sizes_.sizes(); }
  std::string print_open_sizes() const { return sizes_.print_sizes(); }

 private:
  struct Range {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    uint32_t value = 0;
    bool is_continued = false;  // whether an output begins at its address
  };

  Status bind_input(const NamedTensor& input, uint32_t id);
  Status bind_output(NamedTensor& output, uint32_t id);
  Status allocate(NamedTensor& output, const ValueState& value) const;
  Result<bool> find_continued(const NamedTensor& output, const ValueState& value);
  Status check_tensor(std::string_view what, const NamedTensor& argument, const ValueState& value) const;
  bool can_append(const ValueState& value, uint32_t id) const;
  void provide_ungiven_outputs();
  Tensor& scratch(uint32_t id, const TensorView& like);

  const fbs::FunctionT& function_;
  std::span<ValueState> values_;
  ArgumentNames inputs_;
  ArgumentNames outputs_;
  SizeBinder sizes_;
  std::vector<Range> input_ranges_;       // memory of the inputs given, in their order
  std::vector<size_t> output_positions_;  // position of the caller's i-th output
  std::vector<Tensor> scratch_;           // replaces unaligned or missing buffers, by value; kept
  std::vector<bool> can_append_;          // empty: no output may begin at an input's address
};

}  // namespace intarsia
