// Runs a program on tensors in files of raw elements: run_raw PROGRAM FOLDER [RUNS]. Reads INPUT.in for each
// input of its first function, in the shape that the program says, and writes OUTPUT.out for each output.
// Says how long the fastest of RUNS runs took.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "include/intarsia/intarsia.hpp"

namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the bytes of an element of the types that tests use.
size_t element_bytes(int32_t dtype) {
  switch (dtype) {
    case INTARSIA_U8:
    case INTARSIA_I8:
    case INTARSIA_BOOL:
      return 1;
    case INTARSIA_F16:
    case INTARSIA_BF16:
    case INTARSIA_I16:
    case INTARSIA_U16:
      return 2;
    case INTARSIA_F32:
    case INTARSIA_I32:
    case INTARSIA_U32:
      return 4;
    default:
      return 8;
  }
}

void write_output(const intarsia_tensor& tensor, const std::string& path) {
  size_t bytes = element_bytes(tensor.dtype);
  for (size_t i = 0; i < tensor.rank; ++i) bytes *= static_cast<size_t>(tensor.shape[i]);
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(tensor.data), static_cast<std::streamsize>(bytes));
}

void run(const std::string& path, const std::string& folder, int runs) {
  const auto program = intarsia::Program::load(path);
  const intarsia::Function function = program.functions().at(0);
  auto session = program.bind();
  std::vector<std::vector<char>> bytes;
  std::vector<intarsia_tensor> inputs, outputs;
  for (const intarsia::Argument& input : function.inputs) {
    bytes.push_back(read_file(folder + "/" + input.name + ".in"));
    intarsia_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.name = input.name.c_str();
    tensor.dtype = input.dtype;
    tensor.data = bytes.back().data();
    tensor.rank = input.shape.size();
    tensor.shape = input.shape.data();
    inputs.push_back(tensor);
  }
  std::chrono::duration<double, std::milli> fastest(1e12);
  for (int i = 0; i < runs; ++i) {
    for (intarsia_tensor& output : outputs) intarsia_tensor_release(&output);
    outputs.clear();
    for (const intarsia::Argument& output : function.outputs) {
      intarsia_tensor tensor{};
      tensor.struct_size = sizeof tensor;
      tensor.name = output.name.c_str();
      outputs.push_back(tensor);
    }
    const auto begin = std::chrono::steady_clock::now();
    intarsia_error* error = intarsia_session_run(session.get(), nullptr, inputs.data(), inputs.size(),
                                                 outputs.data(), outputs.size());
    if (error != nullptr) throw std::runtime_error(intarsia_error_message(error));
    fastest = std::min<decltype(fastest)>(fastest, std::chrono::steady_clock::now() - begin);
  }
  for (intarsia_tensor& output : outputs) {
    write_output(output, folder + "/" + output.name + ".out");
    intarsia_tensor_release(&output);
  }
  std::printf("fastest %.3f ms\n", fastest.count());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    run(arguments[1], arguments[2], count > 3 ? std::atoi(arguments[3]) : 1);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
