#include "run_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "wrap_text.h"

namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// The files of a folder by their names.
struct Folder {
  std::vector<fs::path> files;
  std::vector<std::string> left_out;  // of other kinds
};

Folder list_folder(const std::string& path) {
  Folder folder;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const fs::path& file = at->path();
    const bool is_hidden = file.filename().string()[0] == '.';
    if (is_hidden || !at->is_regular_file(error)) continue;
    if (may_be_input(file.string()))
      folder.files.push_back(file);
    else
      folder.left_out.push_back(file.filename().string());
  }
  if (error) throw intarsia::Error(fmt::format("-i {}: cannot read the folder: {}", path, error.message()));
  if (folder.files.empty())
    throw UsageError(fmt::format("-i {}: holds no input: want files that end with {}", path,
                                 fmt::join(input_suffixes(), ", ")));
  std::sort(folder.files.begin(), folder.files.end());
  std::sort(folder.left_out.begin(), folder.left_out.end());
  return folder;
}

/// The inputs of which one names a folder.
class FolderInputs {
 public:
  explicit FolderInputs(const InputOptions& options) : options_(options) {
    const std::vector<std::string> named = input_files(options);
    const auto at = std::find_if(named.begin(), named.end(), is_folder);
    if (std::find_if(at + 1, named.end(), is_folder) != named.end())
      throw UsageError("-i: two inputs are folders; give one, or .npz files with all inputs of a run");
    number_ = static_cast<size_t>(at - named.begin());
    path_ = *at;
  }

  const std::string& path() const { return path_; }
  /// Those of one run.
  InputOptions with(const fs::path& file) const {
    InputOptions options = options_;
    std::string& text = options.texts[number_];
    text = text.substr(0, text.size() - path_.size()) + file.string();
    return options;
  }

 private:
  InputOptions options_;
  size_t number_ = 0;  // of the text with the folder
  std::string path_;
};

void check_usage(const RunOptions& options) {
  const std::pair<const char*, bool> of_one_input[] = {{"--runs", options.runs > 0},
                                                       {"--trace", !options.trace.empty()},
                                                       {"--dump", !options.dump.empty()},
                                                       {"--profile", options.profile.wanted}};
  for (const auto& [name, is_given] : of_one_input)
    if (is_given)
      throw UsageError(fmt::format("{}: want one input; -i names a folder, with a run a file", name));
}

/// {"file","inputs","outputs","milliseconds"}; outputs go `to` a folder, where none of what is `read` is
/// replaced.
Json run_file(Run& run, const FolderInputs& inputs, const fs::path& file, const std::string& to,
              const std::vector<std::string>& read) {
  run.set_inputs(inputs.with(file));
  const double milliseconds = run.run();
  OutputWriter writer(to, read);
  Json entry{{"file", file.string()}, {"inputs", run.input_notes()}, {"outputs", Json::array()}};
  for (const intarsia_tensor& output : run.outputs())
    entry["outputs"].push_back(writer.write(output.name, output));
  entry["milliseconds"] = milliseconds;
  return entry;
}

void print_file(const Json& entry, const std::vector<intarsia_tensor>& outputs) {
  std::string how;
  for (const Json& input : entry["inputs"])
    if (!input["conversion"].is_null()) how += fmt::format(" ({})", input["conversion"].get<std::string>());
  std::string text = fmt::format("file   {}{}\n", entry["file"].get<std::string>(), how);
  for (size_t i = 0; i < outputs.size(); ++i) text += print_output(entry["outputs"][i], outputs[i]);
  print_text(text, 7);
}

/// An entry each; prints it as soon as there is one.
Json run_files(const RunOptions& options, Run& run, const FolderInputs& inputs,
               const std::vector<fs::path>& files) {
  Json entries = Json::array();
  FileNames names;
  std::vector<std::string> read = files_read(options);
  for (const fs::path& file : files) read.push_back(file.string());
  ProgressDisplay display(options.verbosity);
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    display.show(name, static_cast<double>(entries.size()) / static_cast<double>(files.size()));
    try {
      const std::string to = options.folder.empty() ? "" : fs::path(options.folder) / names.make(name);
      entries.push_back(run_file(run, inputs, file, to, read));
    } catch (const intarsia::Error& error) {
      const std::string why = error.what();
      const bool is_named = why.find(file.string()) != std::string::npos;
      throw intarsia::Error(
          fmt::format("{}{} ({} of {} were run before it)", is_named ? "" : file.string() + ": ", why,
                      entries.size(), count_of(files.size(), "file")),
          error.kind());
    }
    const bool is_in_files = options.verbosity == Verbosity::quiet && !options.folder.empty();
    if (options.json || is_in_files) continue;
    display.clear();
    print_file(entries.back(), run.outputs());
  }
  return entries;
}

void print_end(const RunOptions& options, const Json& report) {
  std::string text;
  if (!report["left_out"].empty())
    text += fmt::format("note   left out, since they are no inputs: {}\n",
                        fmt::join(report["left_out"].get<std::vector<std::string>>(), ", "));
  text += print_alternative(report["alternative"]) + print_threads(report);
  text += fmt::format("{}: {}, {:.3f} ms each on {}, the median\n", options.path,
                      count_of(report["files"].size(), "file"), report["milliseconds"].get<double>(),
                      count_of(report["threads"].get<size_t>(), "thread"));
  print_text(text, 7);
}

}  // namespace

bool has_folder(const InputOptions& inputs) {
  const std::vector<std::string> files = input_files(inputs);
  return std::any_of(files.begin(), files.end(), is_folder);
}

void run_folder(const RunOptions& options) {
  check_usage(options);
  const FolderInputs inputs(options.inputs);
  const Folder folder = list_folder(inputs.path());
  const Runnable runnable(options);
  Run run(options, runnable.program());
  Json report = describe_run(runnable, run);
  for (const char* of_one_input : {"inputs", "outputs", "dumped"}) report[of_one_input] = Json::array();
  report["files"] = run_files(options, run, inputs, folder.files);
  report["left_out"] = folder.left_out;
  std::vector<double> milliseconds;
  for (const Json& file : report["files"]) milliseconds.push_back(file["milliseconds"]);
  report["alternative"] = describe_alternative(run.alternative());
  report["milliseconds"] = quantile(milliseconds, 0.5);
  report["cold"] = milliseconds.size() == 1;
  report["trace"] = report["profile"] = nullptr;
  if (options.json)
    print_json(report);
  else if (options.verbosity != Verbosity::quiet)
    print_end(options, report);
}
