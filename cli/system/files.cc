#include "cli/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <intarsia/intarsia.hpp>
#include <memory>

std::vector<char> read_file(const std::string& path, size_t most) {
  const auto failed = [&](const char* what) {
    return intarsia::Error(fmt::format("cannot read '{}': {}", path, what));
  };
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) throw failed(std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor,
                                                                [](const int* file) { close(*file); });
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0) throw failed(std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) throw failed("it is a folder, not a regular file");
  if (!S_ISREG(facts.st_mode)) throw failed("it is not a regular file");
  std::vector<char> bytes(std::min(static_cast<size_t>(facts.st_size), most));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failed(std::strerror(errno));
    if (count == 0) throw failed("it was truncated while being read");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

void check_output(const std::string& path, const std::vector<std::string>& inputs) {
  std::vector<const char*> names;
  for (const std::string& input : inputs) names.push_back(input.c_str());
  intarsia::detail::check(intarsia_output_check(path.c_str(), names.data(), names.size()));
}

void write_file(const std::string& path, const std::vector<std::string_view>& pieces) {
  std::vector<intarsia_string> parts;
  for (const std::string_view piece : pieces) parts.push_back({piece.data(), piece.size()});
  intarsia::detail::check(intarsia_output_write(path.c_str(), parts.data(), parts.size()));
}
