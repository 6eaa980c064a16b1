// Recognition of files named by mistake, by their bytes or else by their name.
#pragma once

#include <optional>
#include <string>

namespace intarsia {

struct FileKind {
  enum class Role {
    model,    // model that can be compiled
    program,  // compiled program, another library, or a part of either
    other,
  };
  std::string name;    // "a Keras model file"
  std::string advice;  // way to get a model from it: "load it with keras.models.load_model, and ..."
  Role role = Role::other;
};

/// Returns the kind of a file or folder; nullopt if it cannot be read or is unknown. Reads only the first and
/// last bytes of a file.
std::optional<FileKind> recognize_file(const std::string& path);

}  // namespace intarsia
