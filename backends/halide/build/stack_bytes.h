// Stack that code takes, which LLVM says in remarks while it generates the code.
#pragma once

#include <functional>
#include <string>

namespace intarsia::halide {

/// Lets LLVM say it. Called once, before Halide's first use.
void ask_for_stack_bytes();

/// Calls `generate` and returns what LLVM and others write to the standard error meanwhile.
std::string capture_errors(const std::function<void()>& generate);

/// Returns the most bytes of stack that a kernel takes, with its entry and one of its tasks, which have
/// `function` as a prefix of their names; 0 if the remarks do not have it. Routines that it calls, and the
/// thread pool between the kernel and its task, do not count.
size_t stack_bytes(const std::string& remarks, const std::string& function);

/// Returns the lines that are not about stack.
std::string other_lines(const std::string& remarks);

}  // namespace intarsia::halide
