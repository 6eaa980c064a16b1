// Libraries of other projects, found on the machine and opened at run time: none of them is linked.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// What a library is called.
struct ForeignLibrary {
  const char* name;   // "ONNX Runtime"
  const char* entry;  // a function that only it exports: "OrtGetApiBase"
  const char* file;   // "libonnxruntime.so"
  const char*
      variable;         // environment variable in which a user names a file or folder: "INTARSIA_ONNXRUNTIME"
  const char* package;  // Python package: "onnxruntime"

  /// What to do when it is not there.
  std::string remedy() const;
};

/// Where a library is searched for, in this order.
struct LibrarySearch {
  std::string given;        // by the user: a file, or a folder that holds one; nothing else is tried then
  std::string loaded_name;  // soname: used if the process has it already, else found by the loader's rules
  std::vector<std::string> patterns;  // file name patterns (glob)
};

/// The library's environment variable, `loaded_name`, and the Python environments around our own library, of
/// VIRTUAL_ENV and of the python3 in PATH, where it is `in_packages`: "onnxruntime/capi/libonnxruntime.so.*".
LibrarySearch search_for(const ForeignLibrary& library, const std::string& loaded_name,
                         const std::string& in_packages);

struct OpenedLibrary {
  void* handle = nullptr;  // never closed; null when the process had already loaded the library
  void* entry = nullptr;   // address of ForeignLibrary::entry
  std::string path;
};

/// The files that the user's choice or else the patterns name, in order; nothing is opened.
std::vector<std::string> list_files(const ForeignLibrary& library, const LibrarySearch& search);

/// Opens what the search finds first. Fails with all places that were searched and the remedy.
Result<OpenedLibrary> open_foreign_library(const ForeignLibrary& library, const LibrarySearch& search);

}  // namespace intarsia
