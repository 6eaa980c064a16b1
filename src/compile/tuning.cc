#include "compile/tuning.h"

#include <algorithm>
#include <thread>

#include "base/cpu_level.h"
#include "base/files/cache_folder.h"

namespace intarsia {
Tuning::Tuning(const CompileRequest& request, const CompileServices& services)
    : request_(request), services_(services), start_(std::chrono::steady_clock::now()) {
  if (request.tune == Tune::off)
    disabled_reason_ = "--tune off";
  else if (!services.measuring.time_kernels)
    disabled_reason_ = "nothing here can measure";
  else if (!runs_here(request.cpu))
    disabled_reason_ = fmt::format("code for {} cannot run here", request.cpu);
  else if (request.threads > static_cast<int>(std::thread::hardware_concurrency()))
    disabled_reason_ = fmt::format("{} threads, this machine has {} cores", request.threads,
                                   std::thread::hardware_concurrency());
  if (!disabled_reason_.empty()) return;
  costs_.emplace(cache_folder(request.cache_folder));
  tuner_.effort = request.tune;
  tuner_.costs = &*costs_;
  tuner_.probe = [this] { return probe(); };
  tuner_.has_device = services.measuring.has_device;
  tuner_.may_go_on = [this] {
    if (services_.observer.is_cancelled && services_.observer.is_cancelled()) return false;
    if (!request_.plan_path.empty()) return false;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return request_.tune_seconds == 0 || spent.count() < request_.tune_seconds;
  };
}

Tuner* Tuning::tuner_for(const std::string& backend) {
  if (!disabled_reason_.empty()) return nullptr;
  tuner_.time_kernels = [this, backend](const KernelBatch& batch, const std::string& device, int threads) {
    return services_.measuring.time_kernels(backend, batch, device, threads);
  };
  return &tuner_;
}

int64_t Tuning::probe() {
  if (!probe_) probe_ = services_.measuring.probe();
  return *probe_;
}

TuningReport Tuning::report() const {
  return {disabled_reason_, tuner_.measured,       tuner_.remembered,
          tuner_.disturbed, disturbed_boundaries_, costs_ ? costs_->warning() : ""};
}

}  // namespace intarsia
