// Conversion of TensorProto to Tensor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/mapped_file.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

/// Sources that tensors of one model may get their bytes from.
struct TensorSource {
  std::shared_ptr<void> owner;  // keeps the model's own bytes alive; if null, raw data is copied
  std::string folder;  // the model's folder, below which external data must lie; empty if none is allowed
  std::map<std::string, MappedFile> files;  // external files mapped so far, by location
};

/// Reads a serialized TensorProto of any dtype. Raw and external data that are aligned to the element stay
/// in place (a view that keeps its owner alive); the rest is copied. `name`, if given, receives the
/// tensor's name.
Result<Tensor> read_onnx_tensor(std::string_view bytes, TensorSource& source, std::string* name = nullptr);

/// Reads a SparseTensorProto as a dense tensor.
Result<Tensor> read_onnx_sparse_tensor(std::string_view bytes, TensorSource& source,
                                       std::string* name = nullptr);

/// Reads a standalone TensorProto file (the .pb files of the ONNX backend tests).
Result<Tensor> read_onnx_tensor_file(const std::string& path);

}  // namespace intarsia
