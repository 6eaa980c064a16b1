#include "base/code/find_clang.h"

#include <charconv>
#include <fstream>
#include <sstream>

#include "base/code/run_program.h"
#include "base/files/temporary_folder.h"

namespace intarsia {
namespace {

/// Returns what a program prints for --version; empty if there is none that runs.
Result<std::string> print_version(const std::string& program) {
  const TemporaryFolder folder = TRY(TemporaryFolder::make("intarsia-clang"));
  const std::string log = folder / "version";
  if (TRY(run_program({program, "--version"}, log)) != 0) return std::string();
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  return text.str();
}

/// Returns the word after "version": "19.1.7"; empty if there is none.
std::string version_in(const std::string& text) {
  constexpr std::string_view before = "version ";
  const size_t at = text.find(before);
  if (at == std::string::npos) return {};
  const size_t begin = at + before.size();
  return text.substr(begin, text.find_first_of(" \n-", begin) - begin);
}

}  // namespace

Result<std::string> find_clang(const std::string& purpose) {
  const std::string versioned = fmt::format("clang-{}", clang_version);
  if (!TRY(print_version(versioned)).empty()) return versioned;
  const std::string other = version_in(TRY(print_version("clang")));
  int major = 0;
  std::from_chars(other.data(), other.data() + other.size(), major);
  if (major == clang_version) return std::string("clang");
  const std::string found =
      other.empty() ? "is not on PATH" : fmt::format("is not on PATH, and clang there is version {}", other);
  return fail(ErrorKind::not_found, "{} {}; {} needs it: install the package {} (apt install {})", versioned,
              found, purpose, versioned, versioned);
}

}  // namespace intarsia
