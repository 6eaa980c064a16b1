#include "api/make_services.h"

#include "api/all_devices.h"
#include "api/run_backends.h"
#include "measure/measure_rounding.h"
#include "measure/peak.h"
#include "measure/probe.h"
#include "measure/record_runs.h"
#include "measure/time_device_kernels.h"
#include "measure/time_kernels.h"
#include "measure/time_link.h"
#include "measure/time_programs.h"

namespace intarsia::api {
namespace {

/// Times kernels on `device`: "cpu", or one whose memory is not the host's.
Result<std::vector<Timing>> time_kernels_on(const std::string& device, const KernelBatch& batch,
                                            const RunBackend& backend, int threads,
                                            const std::function<bool()>& is_cancelled) {
  if (device == "cpu") return time_kernels(batch, backend, threads, is_cancelled);
  const std::shared_ptr<Executor> executor = TRY(make_device(device));
  return time_device_kernels(batch, backend, *executor, is_cancelled);
}

}  // namespace

Result<CompileServices> make_services(const ReadRequest& read) {
  CompileServices services = TRY(make_compile_services(read.request, read.kernels));
  services.observer.progress = read.progress;
  services.observer.print = read.print;
  services.observer.is_cancelled = read.is_cancelled;
  services.measuring.time_kernels = [is_cancelled = read.is_cancelled](
                                        const std::string& backend, const KernelBatch& batch,
                                        const std::string& device,
                                        int threads) -> Result<std::vector<Timing>> {
    for (const RunBackend& one : run_backends()) {
      if (one.name == backend) return time_kernels_on(device, batch, one, threads, is_cancelled);
    }
    return fail("no usable backend '{}'", backend);
  };
  services.measuring.has_device = [](const std::string& device) { return make_device(device).has_value(); };
  services.measuring.probe = measure_probe;
  services.measuring.peak = measure_peak;
  services.measuring.time_link = time_link;
  services.devices.features = device_features;
  services.devices.count_queues = count_queues;
  services.measuring.time_programs = [](std::vector<TemporaryFile> programs, const TimingOptions& options) {
    return time_programs(std::move(programs), run_backends(), options);
  };
  services.measuring.record_runs = [](const std::string& program, const CompileRequest& request) {
    return record_runs(program, request, run_backends());
  };
  services.measuring.measure_rounding = [](const std::string& rounded, const std::string& exact,
                                           const CompileRequest& request) {
    return measure_rounding(rounded, exact, request, run_backends());
  };
  return services;
}

}  // namespace intarsia::api
