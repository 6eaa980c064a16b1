#include "backends/halide/functions/generate_objects.h"

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/code/worker_process.h"
#include "base/cpu_level.h"
#include "base/files/mapped_file.h"
#include "base/files/temporary_folder.h"

namespace intarsia::halide {
namespace {

Result<std::string> read_file(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  return std::string(as_text(file.bytes));
}

Status run_generators(const std::vector<std::string>& arguments) {
  const auto process = TRY(WorkerProcess::start("intarsia-generate", arguments, -1));
  std::optional<WorkerEnd> end;
  while (!(end = process->find_end())) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (end->status == 0) return {};
  if (end->is_killed()) return fail("{}", end->describe("compiling its generators"));
  return fail("{}", end->last_words);
}

}  // namespace

Result<std::vector<FunctionObject>> generate_objects(const GeneratorRequest& request) {
  const TemporaryFolder folder = TRY(TemporaryFolder::make("intarsia-generate"));
  std::error_code error;
  std::vector<std::string> arguments = {std::filesystem::absolute(request.library, error).string(),
                                        folder.path().string(), TRY(resolve_cpu(request.cpu)).level};
  arguments.insert(arguments.end(), request.generators.begin(), request.generators.end());
  TRY(with_context(run_generators(arguments), "library '{}'", request.library));
  std::vector<FunctionObject> objects;
  std::istringstream names(TRY(read_file(folder / "names")));
  for (std::string name; std::getline(names, name);)
    objects.push_back({name, TRY(read_file(folder / fmt::format("{}.o", objects.size())))});
  return objects;
}

}  // namespace intarsia::halide
