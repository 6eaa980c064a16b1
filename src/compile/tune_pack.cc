#include "compile/tune_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files/output_file.h"
#include "base/files/staged_folder.h"
#include "compile/link_objects.h"
#include "target/target.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

std::string print_tensor(const KernelTensor& tensor) {
  std::string text = fmt::format("tensor {} {} {} {}", tensor.is_constant ? "constant" : "workspace",
                                 tensor.place, dtype_name(tensor.dtype), tensor.extents.size());
  for (size_t i = 0; i < tensor.extents.size(); ++i)
    text += fmt::format(" {} {}", tensor.extents[i], tensor.strides[i]);
  return text + "\n";
}

std::string print_kernel(const TimedKernel& kernel) {
  std::string text = fmt::format("kernel {} {} {} {} {} {}\n", kernel.key.digest, kernel.key.precision,
                                 kernel.key.threads, kernel.times, kernel.tensors.size(), kernel.symbol);
  for (const KernelTensor& tensor : kernel.tensors) text += print_tensor(tensor);
  return text;
}

}  // namespace

void TunePack::take(const KernelBatch& batch) {
  std::vector<const TimedKernel*> kernels;
  for (const TimedKernel& kernel : batch.kernels)
    if (keys_.insert(kernel.key).second) kernels.push_back(&kernel);
  if (!kernels.empty()) add_batch(batch, kernels);
}

void TunePack::add_batch(const KernelBatch& batch, const std::vector<const TimedKernel*>& kernels) {
  for (const std::string& object : batch.region.object_files)
    if (known_objects_.insert(object).second) objects_.push_back(object);
  batches_ += fmt::format("batch {} {}\n", batch.region.workspace_bytes, batch.region.constants.size());
  for (const Tensor& constant : batch.region.constants)
    batches_ += fmt::format("constant {}\n", constant.bytes());
  batches_ += fmt::format("kernels {}\n", kernels.size());
  for (const TimedKernel* kernel : kernels) {
    batches_ += print_kernel(*kernel);
    threads_ = std::max(threads_, kernel->key.threads);
  }
  ++batch_count_;
}

std::string TunePack::print_list(const std::string& cpu, Arch arch) const {
  INTARSIA_CHECK(!keys_.empty());
  const CostKey& key = *keys_.begin();
  return fmt::format(
      "intarsia_tune_pack 1\nbatches {}\nthreads {}\ncpu {}\narchitecture {}\ngenerator {} {} {}\n{}",
      batch_count_, threads_, cpu, arch_name(arch), key.backend, key.version, key.code, batches_);
}

Status TunePack::write(const std::string& folder, const std::string& cpu, Arch arch,
                       const KernelTimer& timer) const {
  TRY(check_new_folder(folder));
  const std::string library = TRY(link_objects(objects_, arch_name(arch)));
  StagedFolder staged = TRY(StagedFolder::create(folder));
  constexpr mode_t executable = 0777;
  const auto put = [&](const std::string& name, std::string_view bytes, mode_t mode = 0666) {
    return write_whole((staged.path() / name).string(), bytes, mode);
  };
  TRY(put("kernels.so", library));
  TRY(put("kernels.txt", print_list(cpu, arch)));
  TRY(put("timer", timer.program, executable));
  for (const auto& [name, text] : timer.sources) TRY(put(name, text));
  TRY(put("run.sh", timer.script, executable));
  return staged.commit();
}

Status check_new_folder(const std::string& folder) {
  std::error_code error;
  const bool is_free = !fs::exists(fs::symlink_status(folder, error)) ||
                       (fs::is_directory(folder, error) && fs::is_empty(folder, error));
  if (is_free) return {};
  return fail(ErrorKind::invalid_argument, "'{}' exists, and is not an empty folder; name another folder",
              folder);
}

}  // namespace intarsia
