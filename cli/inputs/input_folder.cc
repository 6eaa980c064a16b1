#include "cli/inputs/input_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "cli/usage/usage_error.h"

namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_before(const fs::path& a, const fs::path& b) {
  return strverscmp(a.filename().c_str(), b.filename().c_str()) < 0;
}

}  // namespace

bool has_folder(const InputOptions& inputs) {
  const std::vector<std::string> files = input_files(inputs);
  return std::any_of(files.begin(), files.end(), is_folder);
}

FolderInputs::FolderInputs(const InputOptions& options) : options_(options) {
  const std::vector<std::string> named = input_files(options);
  const auto at = std::find_if(named.begin(), named.end(), is_folder);
  if (std::find_if(at + 1, named.end(), is_folder) != named.end())
    throw UsageError("-i: two inputs are folders; give one, or .npz files with all inputs of a run");
  number_ = static_cast<size_t>(at - named.begin());
  path_ = *at;
}

InputFolder FolderInputs::list() const {
  InputFolder folder;
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    const fs::path& file = at->path();
    const bool is_hidden = file.filename().string()[0] == '.';
    if (is_hidden || !at->is_regular_file(error)) continue;
    if (may_be_input(file.string()))
      folder.files.push_back(file);
    else
      folder.left_out.push_back(file.filename().string());
  }
  if (error) throw intarsia::Error(fmt::format("-i {}: cannot read the folder: {}", path_, error.message()));
  if (folder.files.empty())
    throw UsageError(fmt::format("-i {}: holds no input: want files that end with {}", path_,
                                 fmt::join(input_suffixes(), ", ")));
  std::sort(folder.files.begin(), folder.files.end(), is_before);
  std::sort(folder.left_out.begin(), folder.left_out.end());
  return folder;
}

InputOptions FolderInputs::with(const fs::path& file) const {
  InputOptions options = options_;
  std::string& text = options.texts[number_];
  text = text.substr(0, text.size() - path_.size()) + file.string();
  return options;
}
