// Shapes of --shape at which the inputs of a run are filled.
#pragma once

#include <intarsia/intarsia.hpp>
#include <string>
#include <vector>

#include "cli/inputs/inputs.h"

/// Shape of an input in --shape.
struct GivenShape {
  std::string text;  // as the user wrote it
  std::string input;
  /// Numbers of each size: several of a list, none of a size that stays open.
  std::vector<std::vector<int64_t>> sizes;
};

/// Parses shapes as compiling does: "x=1,8,32x3" has the sizes {1,8,32} and {3}; "x=1..8:4x?" has {4} and {}.
/// Throws UsageError for text without an input, and for a size that is none of those.
std::vector<GivenShape> parse_given_shapes(const std::vector<std::string>& texts);

/// Throws UsageError unless all sizes are numbers, or lists where `may_list`: a program runs at one shape.
void check_shapes_of_program(const std::vector<GivenShape>& shapes, bool may_list);

/// Returns how many shapes there are to run at: the length of the longest list.
size_t count_shapes(const std::vector<GivenShape>& shapes);

/// Returns the inputs with the shapes to fill them with in `tuned_shape`: the given ones, of each list the
/// size of this number, or its last; sizes of other inputs follow where they are the same symbol. A file says
/// the shape of its input: where the subject is a model, the given one is that of its compile; where it is a
/// program (`is_program`), giving both is a UsageError, as is an unknown input.
std::vector<intarsia::Argument> with_shapes(std::vector<intarsia::Argument> inputs,
                                            const std::vector<GivenShape>& shapes, size_t number,
                                            const InputOptions& options, bool is_program);

/// Returns a function's inputs with shapes. Throws what a run at these shapes throws, too, unless some are in
/// files, which are not read yet.
std::vector<intarsia::Argument> inputs_at(const intarsia::Program& program,
                                          const intarsia::Function& function,
                                          const std::vector<GivenShape>& shapes, size_t number,
                                          const InputOptions& options, bool is_program);

/// Returns the open sizes of a run with these inputs, which are in the function's order: {"batch": 4}.
Json sizes_of_run(const intarsia::Function& function, const std::vector<intarsia_tensor>& inputs);
