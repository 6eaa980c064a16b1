#include "compile/tuning.h"

#include <thread>

#include "base/cpu_level.h"
#include "base/files/cache_folder.h"

namespace intarsia {
namespace {

/// Returns why kernels are not timed here; empty if they are.
std::string why_not_timed(const CompileRequest& request, const CompileServices& services) {
  if (services.take_kernels) return "kernels are to be timed on another machine";
  if (request.tune == Tune::off) return "--tune off";
  if (!services.measuring.time_kernels) return "nothing here can measure";
  if (!runs_here(request.cpu)) return fmt::format("code for {} cannot run here", request.cpu);
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  if (request.threads > cores)
    return fmt::format("{} threads, this machine has {} cores", request.threads, cores);
  return {};
}

}  // namespace

Tuning::Tuning(const CompileRequest& request, const CompileServices& services)
    : request_(request),
      services_(services),
      start_(std::chrono::steady_clock::now()),
      disabled_reason_(why_not_timed(request, services)) {
  tuner_.effort = request.tune;
  if (disabled_reason_.empty())
    measure_here();
  else if (services.take_kernels)
    take_kernels();
  else if (request.tune != Tune::off && !runs_here(request.cpu))
    recall_imported();
  tuner_.costs = costs_ ? &*costs_ : nullptr;
}

void Tuning::measure_here() {
  costs_.emplace(cache_folder(request_.cache_folder));
  tuner_.probe = [this] { return probe(); };
  tuner_.has_device = services_.measuring.has_device;
  tuner_.may_go_on = [this] {
    if (services_.observer.is_cancelled && services_.observer.is_cancelled()) return false;
    if (!request_.plan_path.empty()) return false;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return request_.tune_seconds == 0 || spent.count() < request_.tune_seconds;
  };
}

/// Hands over each kernel once, as if all took the same time.
void Tuning::take_kernels() {
  const std::string in_memory;
  costs_.emplace(in_memory);
  tuner_.tries_all = true;
  tuner_.probe = [] { return int64_t{0}; };
  tuner_.has_device = [](const std::string&) { return false; };
  tuner_.may_go_on = [this] {
    return !services_.observer.is_cancelled || !services_.observer.is_cancelled();
  };
}

/// Reads the times that were imported for the processor, if there are any.
void Tuning::recall_imported() {
  costs_.emplace(cache_folder(request_.cache_folder));
  imported_ = costs_->find_imported(request_.cpu);
  warning_ = costs_->warning();
  if (!imported_) {
    costs_.reset();
    return;
  }
  costs_->set_machine(imported_->machine);
  tuner_.probe = [] { return int64_t{0}; };
  tuner_.has_device = [](const std::string&) { return false; };
  tuner_.may_go_on = [] { return false; };
}

Tuner* Tuning::tuner_for(const std::string& backend) {
  if (!costs_) return nullptr;
  tuner_.time_kernels = [this, backend](const KernelBatch& batch, const std::string& device,
                                        int threads) -> Result<std::vector<Timing>> {
    if (!services_.take_kernels) return services_.measuring.time_kernels(backend, batch, device, threads);
    services_.take_kernels(batch);
    return std::vector(batch.kernels.size(), Timing{.nanoseconds = 1});
  };
  return &tuner_;
}

int64_t Tuning::probe() {
  if (!probe_) probe_ = services_.measuring.probe();
  return *probe_;
}

TuningReport Tuning::report() const {
  TuningReport report{.disabled_reason = disabled_reason_,
                      .measured = tuner_.measured,
                      .remembered = tuner_.remembered,
                      .disturbed = tuner_.disturbed,
                      .untimed = tuner_.untimed,
                      .disturbed_boundaries = disturbed_boundaries_,
                      .warning = costs_ ? costs_->warning() : warning_};
  if (!imported_) return report;
  if (tuner_.remembered > 0) {
    report.disabled_reason.clear();
    report.imported = imported_;
    report.imported_for = request_.cpu;
  } else {
    report.disabled_reason += fmt::format(
        ", and no time imported for {} is of these kernels: measure them (intarsia tune-pack)", request_.cpu);
  }
  return report;
}

}  // namespace intarsia
