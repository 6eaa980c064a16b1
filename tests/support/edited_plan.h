// Runs of edited plans: on memory between inaccessible pages, in a process of their own.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "tests/support/halide_support.h"

namespace intarsia::test {

inline void make_read_only(const std::shared_ptr<void>& memory, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* at = static_cast<std::byte*>(memory.get());
  at -= reinterpret_cast<uintptr_t>(at) % page;
  mprotect(at, static_cast<size_t>(static_cast<std::byte*>(memory.get()) - at) + bytes, PROT_READ);
}

/// Copies a tensor between guard pages, write-protected; one without memory stays writable.
inline TensorView copy_between_guards(const TensorView& tensor, std::vector<std::shared_ptr<void>>& memory) {
  memory.push_back(guarded_memory(tensor.bytes(), true));
  if (tensor.data != nullptr) {
    std::memcpy(memory.back().get(), tensor.data, tensor.bytes());
    make_read_only(memory.back(), tensor.bytes());
  }
  return {memory.back().get(), tensor.dtype, tensor.shape};
}

/// Calls `use` in a separate process, since a program that reaches outside its memory ends the process.
inline int exit_status_of(const std::function<Status()>& use) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(use() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace intarsia::test
