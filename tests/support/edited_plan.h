// Runs of edited plans: on memory between inaccessible pages, in a process of their own.
#pragma once

#include <gtest/gtest.h>
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

/// Edits plans at random, one thing each: `use_edited` edits a plan by the seed, describes the change and
/// returns how to use the plan. Each is refused, or runs and stays in its memory.
inline void expect_refused_or_in_memory(
    uint32_t seeds,
    const std::function<std::function<Status()>(uint32_t seed, std::string& what)>& use_edited) {
  int refused = 0, ran = 0;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    std::string what;
    const int status = exit_status_of(use_edited(seed, what));
    ASSERT_TRUE(WIFEXITED(status)) << what << ", seed " << seed << ": ended by signal " << WTERMSIG(status);
    ++(WEXITSTATUS(status) == 0 ? refused : ran);
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(ran, 20);
}

inline void expect_refused_with(const Status& status, const std::string& wanted) {
  ASSERT_FALSE(status) << wanted;
  EXPECT_NE(status.error().message.find(wanted), std::string::npos) << status.error().message;
}

}  // namespace intarsia::test
