// Programs in this process: checked, mapped, their code loaded; bind_program.h binds them to devices.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/code/loaded_code.h"
#include "device/executable.h"
#include "program/read_program.h"

namespace intarsia {

struct BoundProgram;

/// Loaded program, immutable and shared by all sessions. Its file stays open, and its constants mapped, while
/// it lives; everything else is a copy.
class LoadedProgram {
 public:
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  const MappedProgram& file() const { return file_; }
  const fbs::ProgramT& description() const { return file_.description; }
  /// Returns the backend that runs a region. Errors: this Intarsia was built without it or lacks its plug-in.
  Result<const RunBackend*> backend(size_t region) const;
  /// Returns the address of an exported symbol of the program's code, or null.
  void* symbol(const std::string& name) const;
  std::span<const RunBackend> backends() const { return backends_; }

 private:
  LoadedProgram() = default;
  friend Result<std::shared_ptr<const LoadedProgram>> load_program(const std::shared_ptr<const ProgramFile>&,
                                                                   std::span<const RunBackend>);
  friend Result<std::shared_ptr<const BoundProgram>> bind_program(const std::shared_ptr<const LoadedProgram>&,
                                                                  const struct BindOptions&);
  Result<const RunBackend*> find_backend(const std::string& name) const;
  Status load_code();

  MappedProgram file_;
  std::optional<LoadedCode> code_;
  std::vector<RunBackend> backends_;
  // Sessions with the same binding share devices' constants and executables.
  mutable std::mutex bound_mutex_;
  mutable std::map<std::string, std::weak_ptr<const BoundProgram>> bound_;
};

/// Loads a program. Fails, naming the file, when it is damaged, was made for another machine, or needs a
/// backend that is not among `backends` in a requirement or in every alternative of a function; the error
/// then names the operators in question and what to install.
Result<std::shared_ptr<const LoadedProgram>> load_program(const std::string& path,
                                                          std::span<const RunBackend> backends);
Result<std::shared_ptr<const LoadedProgram>> load_program(const std::shared_ptr<const ProgramFile>& file,
                                                          std::span<const RunBackend> backends);

}  // namespace intarsia
