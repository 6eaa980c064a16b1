#include "backends/halide/build/stack_bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>

namespace intarsia::halide {
namespace {

/// Bytes that a frame may take besides those that LLVM says: the return address, and an alignment to a cache
/// line.
constexpr size_t beside_frame = 64 + 8;

const std::regex& remark() {
  static const std::regex text("(\\d+) stack bytes in function '([^']*)'");
  return text;
}

std::string read_from_start(int file) {
  std::string bytes(static_cast<size_t>(std::max<off_t>(lseek(file, 0, SEEK_END), 0)), '\0');
  const ssize_t got = pread(file, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

}  // namespace

void ask_for_stack_bytes() {
  const char* const given = std::getenv("HL_LLVM_ARGS");
  // An empty argument would be one that LLVM does not know.
  const std::string all = fmt::format("{}-pass-remarks-analysis=prologepilog",
                                      given == nullptr || *given == '\0' ? "" : fmt::format("{} ", given));
  setenv("HL_LLVM_ARGS", all.c_str(), 1);
}

std::string capture_errors(const std::function<void()>& generate) {
  const int file = memfd_create("intarsia-remarks", MFD_CLOEXEC), errors = dup(STDERR_FILENO);
  const auto restore = [&] {
    std::fflush(stderr);
    if (errors >= 0) dup2(errors, STDERR_FILENO), close(errors);
  };
  std::fflush(stderr);
  if (file >= 0 && errors >= 0) dup2(file, STDERR_FILENO);
  try {
    generate();
  } catch (...) {
    restore();
    if (file >= 0) close(file);
    throw;
  }
  restore();
  if (file < 0) return {};
  std::string text = read_from_start(file);
  close(file);
  return text;
}

size_t stack_bytes(const std::string& remarks, const std::string& function) {
  size_t callers = 0, most_of_task = 0;
  for (std::sregex_iterator at(remarks.begin(), remarks.end(), remark()), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if (!name.starts_with(function) || name.ends_with("_metadata")) continue;
    const size_t bytes = std::stoull((*at)[1]) + beside_frame;
    if (name.contains("_task"))
      most_of_task = std::max(most_of_task, bytes);
    else
      callers += bytes;
  }
  return callers + most_of_task;
}

std::string other_lines(const std::string& remarks) {
  std::istringstream lines(remarks);
  std::string others;
  for (std::string line; std::getline(lines, line);)
    if (!std::regex_search(line, remark())) others += line + "\n";
  return others;
}

}  // namespace intarsia::halide
