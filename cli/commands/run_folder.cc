#include "cli/commands/run_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/inputs/input_folder.h"
#include "cli/text/wrap_text.h"
#include "cli/usage/usage_error.h"

namespace {

namespace fs = std::filesystem;

void check_usage(const RunOptions& options) {
  const std::pair<const char*, bool> of_one_input[] = {{"--runs", options.runs > 0},
                                                       {"--trace", !options.trace.empty()},
                                                       {"--dump", !options.dump.empty()},
                                                       {"--profile", options.profile.wanted}};
  for (const auto& [name, is_given] : of_one_input)
    if (is_given)
      throw UsageError(fmt::format("{}: want one input; -i names a folder, with a run a file", name));
}

/// Runs one file and returns {"file","sizes","inputs","outputs","milliseconds"}; outputs go into the folder
/// `to`, where no file of `read` is replaced.
Json run_file(Run& run, const FolderInputs& inputs, const std::vector<GivenShape>& shapes,
              const fs::path& file, const std::string& to, const std::vector<std::string>& read) {
  run.set_inputs(inputs.with(file), shapes);
  const double milliseconds = run.run();
  OutputWriter writer(to, read);
  Json entry{{"file", file.string()},
             {"sizes", run.sizes()},
             {"inputs", run.input_notes()},
             {"outputs", Json::array()}};
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

/// Returns an entry for each file; prints it as soon as it is there.
Json run_files(const RunOptions& options, Run& run, const FolderInputs& inputs,
               const std::vector<fs::path>& files) {
  Json entries = Json::array();
  FileNames names;
  const std::vector<GivenShape> shapes = shapes_to_run_at(options);
  std::vector<std::string> read = files_read(options);
  for (const fs::path& file : files) read.push_back(file.string());
  ProgressDisplay display(options.verbosity);
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    display.show(name, static_cast<double>(entries.size()) / static_cast<double>(files.size()));
    try {
      const std::string to = options.folder.empty() ? "" : fs::path(options.folder) / names.make(name);
      entries.push_back(run_file(run, inputs, shapes, file, to, read));
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

void run_folder(const RunOptions& options) {
  check_usage(options);
  const FolderInputs inputs(options.inputs);
  const InputFolder folder = inputs.list();
  const Runnable runnable(options);
  Run run(options, runnable.program());
  Json report = describe_run(runnable, run);
  report["sizes"] = Json::object();
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
