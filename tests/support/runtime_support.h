// Hand-made programs and a small backend to run them, for tests of the run half alone.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "device/executable.h"
#include "program/program.h"
#include "runtime/named_tensor.h"
#include "tests/support/test_folder.h"

namespace intarsia::test {

/// Returns the backend "toy", which does what the blob says, on f32 unless noted otherwise:
///   add       output = sum of all inputs and constants, element by element
///   append    output = the first input, each number plus 100 unless the output begins at its address, and
///   the second positive  dynamic output: the inputs that are greater than 0, in order strings   output =
///   each string of the input twice make      opaque output that contains the input tensor open      dynamic
///   output = the tensor in the opaque input symbol    output = what the program's function
///   intarsia_test_number returns fail      fails with "on purpose" wrong     dynamic output of another dtype
///   than declared throw     throws "a bug" slow      sleeps 20 ms, then like add
RunBackend toy_backend();

/// Builder of a program, step by step. Ids are indices.
struct ProgramMaker {
  fbs::ProgramT program;
  std::vector<std::string> blobs;
  std::vector<Tensor> constants;
  std::string elf;  // bytes of the library; empty: those of an empty one

  ProgramMaker();  // one slot "cpu" (0) and the function "main"
  fbs::FunctionT& function() { return *program.functions[0]; }
  uint32_t slot(const std::string& name, const std::string& kind, const std::string& device);
  uint32_t value(const std::string& name, fbs::Storage storage, std::vector<int64_t> dims, uint32_t slot = 0,
                 DType dtype = DType::f32);
  uint32_t input(const std::string& name, std::vector<int64_t> dims, DType dtype = DType::f32);
  uint32_t output(const std::string& name, std::vector<int64_t> dims, DType dtype = DType::f32);
  /// Adds a value at the end of the arena of the slot's space, which grows.
  uint32_t arena(const std::string& name, std::vector<int64_t> dims, uint32_t slot = 0);
  /// Adds an output whose shape depends on the data.
  uint32_t dynamic_output(const std::string& name, std::vector<int64_t> dims, DType dtype = DType::f32);
  uint32_t constant(const std::vector<float>& numbers);
  void run(const std::string& blob, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs,
           uint32_t slot = 0, std::vector<uint32_t> constants = {});
  void copy(uint32_t from, uint32_t to);
  void note(const std::string& node, const std::string& op, uint32_t region);
  /// Makes a copy of the function its own alternative, with regions of its own. Returns the number of the
  /// first of these.
  uint32_t alternative();
  /// Makes a copy of the function its own specialization for sizes of the first symbol, with regions of its
  /// own. Returns the number of the first of these.
  uint32_t specialization(uint64_t min, uint64_t max);

  /// Makes each step of the function also a stage: a function that runs it alone, on the device "cpu".
  void divide();

  Status write(const std::string& path) const;

 private:
  std::unique_ptr<fbs::FunctionT> copy_function();
};

/// Makes y = (x + 1) + x, through a value in the arena: the smallest program with all usual parts.
ProgramMaker small_program();

/// Makes y = 16 x, by way of a = 2 x, b = 2 a and c = 2 b, all of the open size N, which is at most
/// `largest`. a and c are never alive at once.
ProgramMaker open_chain(uint64_t largest);

using Floats = std::vector<float>;

/// Returns an argument of a run; without a shape it has one axis.
NamedTensor floats(std::string_view name, Floats& numbers, Shape shape = {});

std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, std::string_view bytes);

}  // namespace intarsia::test
