// What a file is that was named by mistake: by its bytes, else by its name.
#pragma once

#include <optional>
#include <string>

namespace intarsia {

struct FileKind {
  enum class Role {
    model,    // one that can be compiled
    program,  // what a compile wrote, or another library, or a part of either
    other,
  };
  std::string name;    // "a Keras model file"
  std::string advice;  // how to get a model from it: "load it with keras.models.load_model, and ..."
  Role role = Role::other;
};

/// Of a file or folder; nothing if it cannot be read or is not known. Reads only its first and last bytes.
std::optional<FileKind> recognize_file(const std::string& path);

}  // namespace intarsia
