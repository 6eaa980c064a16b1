// Libraries of other projects, found on the machine and opened at run time, never linked.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Names of a library.
struct ForeignLibrary {
  const char* name;      // "ONNX Runtime"
  const char* entry;     // function that only it exports: "OrtGetApiBase"
  const char* file;      // "libonnxruntime.so"
  const char* variable;  // environment variable that names a file or folder: "INTARSIA_ONNXRUNTIME"
  const char* package;   // Python package: "onnxruntime"

  /// Returns advice for a user who lacks the library.
  std::string remedy() const;
};

/// Places to search for a library, in this order.
struct LibrarySearch {
  std::string given;        // file, or folder with one, that the user named; excludes the other places
  std::string loaded_name;  // soname: used if the process has loaded it, else found by the loader's rules
  std::vector<std::string> patterns;  // file name patterns (glob)
};

/// Returns a search over the library's environment variable, `loaded_name`, and the Python environments
/// around our own library, of VIRTUAL_ENV and of the python3 in PATH. `in_packages` is the pattern in
/// site-packages: "onnxruntime/capi/libonnxruntime.so.*".
LibrarySearch search_for(const ForeignLibrary& library, const std::string& loaded_name,
                         const std::string& in_packages);

struct OpenedLibrary {
  void* handle = nullptr;  // never closed; null if the process had already loaded the library
  void* entry = nullptr;   // address of ForeignLibrary::entry
  std::string path;
};

/// Lists the files that match the user's choice or else the patterns, in order, without opening any.
std::vector<std::string> list_files(const ForeignLibrary& library, const LibrarySearch& search);

/// Opens the first match of the search. Errors: no match; the message has all places searched and the remedy.
Result<OpenedLibrary> open_foreign_library(const ForeignLibrary& library, const LibrarySearch& search);

}  // namespace intarsia
