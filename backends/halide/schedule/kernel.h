// Kernel: a small graph and the layout of its tensors. Everything that determines the code is in here.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/halide/core/core_attributes.h"
#include "backends/halide/fuse/fuse.h"
#include "backends/halide/schedule/attention_schedule.h"
#include "backends/halide/schedule/contraction_schedule.h"
#include "backends/halide/schedule/isa.h"
#include "backends/halide/schedule/typical_sizes.h"

namespace intarsia::halide {

/// Layout of the packed weights of a contraction: [group][panel][taps...][channel / dot][lane][dot], whose
/// last two are one axis; transformed by Winograd's algorithm, the taps are its points. Those of a matrix
/// product have the axes of a batch of matrices in place of the group.
struct Packing {
  int64_t panel = 0;   // output channels of a panel; 0 if not packed
  int64_t panels = 0;  // panels of a group
  int64_t dot = 1;     // neighboring input channels whose products one instruction sums
  bool operator==(const Packing&) const = default;
};

/// Details of a kernel besides its body, by its form; none for a form with only one way to compute it.
struct ContractionDetails {
  std::optional<size_t> weights;  // input that holds weights known at compile time
  ContractionSchedule schedule;
  Packing packing;  // packing of the weights
  bool operator==(const ContractionDetails&) const = default;
};
struct RecurrenceDetails {
  ContractionTile tile;  // rows of the batch by units of all gates
  bool operator==(const RecurrenceDetails&) const = default;
};
struct AttentionDetails {
  AttentionNodes nodes;  // nodes of the body
  AttentionSchedule schedule;
  bool operator==(const AttentionDetails&) const = default;
};
using KernelDetails = std::variant<std::monostate, ContractionDetails, RecurrenceDetails, AttentionDetails>;

/// Tensor as a kernel's argument: element (i0, i1, ...) at i0 * strides[0] + ... from the argument's address.
struct Argument {
  DType dtype = DType::undefined;
  SymbolicShape shape, strides;
  bool operator==(const Argument&) const = default;
};

/// Argument of code that is generated for sizes that are numbers.
struct FixedArgument {
  DType dtype = DType::undefined;
  Shape shape, strides;
  FixedArgument() = default;
  explicit FixedArgument(const Argument& argument)
      : dtype(argument.dtype), shape(fixed_sizes(argument.shape)), strides(fixed_sizes(argument.strides)) {}
};

struct Kernel {
  Form form = Form::elementwise;
  Isa isa;                         // target of the code
  Graph body;                      // core operators; inputs v0, v1, ...; scalars are constants; one output
  NodeId anchor = no_node;         // contraction, window, movement, scan or recurrence
  std::vector<Argument> inputs;    // arguments for the body's inputs
  Argument output;                 // output as the body has it
  std::optional<size_t> in_place;  // input that the output is written over; the same address
  int threads = 1;
  KernelDetails details;         // details of its form
  std::vector<int64_t> symbols;  // typical numbers of its open sizes "s0", "s1", ... (symbol_name)

  /// Returns all of the above as text: kernels with equal text have equal code, and a change of any field
  /// changes the text.
  std::string text() const;

  // Details of a kernel of that form.
  const ContractionDetails& contraction() const { return details_as<ContractionDetails>(); }
  const RecurrenceDetails& recurrence() const { return details_as<RecurrenceDetails>(); }
  const AttentionDetails& attention() const { return details_as<AttentionDetails>(); }
  /// Returns the input that holds weights known at compile time.
  std::optional<size_t> weights() const;
  /// Replaces all sizes: of arguments, of the body's values and among its attributes.
  void replace_sizes(const std::function<Dim(const Dim&)>& replace);
  /// Returns the kernel for typical sizes.
  Kernel with_typical_sizes() const;

 private:
  template <typename T>
  const T& details_as() const {
    const T* typed = std::get_if<T>(&details);
    INTARSIA_CHECK(typed != nullptr);
    return *typed;
  }
};

/// Returns the kind of processor that code for a kernel needs besides its level.
DotProducts dot_products_of(const Kernel& kernel);

/// Returns the name of a kernel's open size.
inline std::string symbol_name(size_t number) { return fmt::format("s{}", number); }

/// Offset of an argument in its value while a call repeats its kernel, in elements.
struct Walk {
  Dim start = 0;  // offset in the first run
  Dim step = 0;   // distance from one run to the next; may be negative
};

/// Least and greatest allowed index.
struct IndexLimits {
  Dim low, high;
};

/// Input whose elements say where another input is read.
struct IndexCheck {
  size_t input = 0;
  std::vector<IndexLimits> limits;  // limits of all elements, or of each along the last axis
};

/// A kernel and the region's values that it runs on.
struct Call {
  Kernel kernel;
  std::string source;  // name of the source node of its anchor, or first node
  std::vector<ValueId> inputs;
  ValueId output = no_value;
  std::vector<NodeId> nodes = {};  // nodes of the canonical graph that it computes
  /// Constants of the kernel's body, and where the region has them.
  std::vector<std::pair<ValueId, ValueId>> numbers = {};
  /// Alternative kernels that compute the same, in order of preference, in case code for the kernel is too
  /// expensive to generate.
  std::vector<Kernel> alternatives = {};
  Dim times = 1;
  /// Walks of the inputs, then of the output; none if every argument is its whole value.
  std::vector<Walk> walks = {};
  /// Checks of indices; without them an index out of range reads some element.
  std::vector<IndexCheck> checks = {};
  /// Open sizes of the region that the kernel's stand for. Walks and checks have the region's.
  std::vector<std::string> symbols = {};

  Walk walk(size_t argument) const { return walks.empty() ? Walk{} : walks[argument]; }
};

/// Makes the calls of a region, in order. Open sizes that `typical` lacks are typical_size.
std::vector<Call> make_kernels(const Layouts& layouts, const std::vector<Group>& groups, const Isa& isa,
                               int threads, const TypicalSizes& typical = {});

/// Prints a line "%y (conv1) = kernel of %x %w" for each call, with how often it is repeated, and its
/// kernel's text.
std::string print_calls(const Layouts& layouts, const std::vector<Call>& calls);

}  // namespace intarsia::halide
