// Writing into a model where its nodes run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// A sequence of bytes in pieces, most of them parts of a mapped file.
class BytePieces {
 public:
  BytePieces() = default;
  BytePieces(BytePieces&&) = default;
  BytePieces& operator=(BytePieces&&) = default;

  /// Appends `bytes`, which outlive this object.
  void add(std::string_view bytes);
  void add_own(std::string bytes);
  void append(BytePieces other);
  uint64_t size() const { return size_; }
  const std::vector<std::string_view>& pieces() const { return pieces_; }

 private:
  std::vector<std::string_view> pieces_;
  std::vector<std::unique_ptr<const std::string>> own_;
  uint64_t size_ = 0;
};

/// A node of a ModelProto's graph.
struct FileNode {
  std::string name;
  std::vector<std::string> outputs;
};

/// Reads the nodes in the order of the file, without those of functions and subgraphs. Error: damaged bytes.
Result<std::vector<FileNode>> read_file_nodes(std::string_view model);

/// Returns the paths, relative to the model's folder, of the files that its tensors are in. Error: damaged
/// bytes.
Result<std::vector<std::string>> find_external_files(std::string_view model);

/// Returns the ModelProto whose nodes have the `layer_ann` entries of `places` (by node number; empty for
/// none) in place of their own. All other bytes are unchanged; `model` outlives the result. Error: damaged
/// bytes, or more than the 2 GB that such a message may have.
Result<BytePieces> write_annotations(std::string_view model, const std::vector<std::string>& places);

}  // namespace intarsia
