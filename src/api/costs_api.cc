// C API for times of kernels from and for other machines.
#include <nlohmann/json.hpp>

#include "api/compile_services.h"
#include "api/give_text.h"
#include "api/handles.h"
#include "api/make_services.h"
#include "api/read_request.h"
#include "base/cpu_level.h"
#include "base/files/cache_folder.h"
#include "compile/compile_model.h"
#include "compile/tune_pack.h"
#include "include/intarsia/intarsia_compile.h"
#include "target/exchange_costs.h"

namespace intarsia::api {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the services with the one backend whose kernels are timed.
Result<CompileServices> open_generator() {
  CompileRequest request;
  request.backends = {"halide"};
  request.allow_fallback = false;
  return make_compile_services(request, {});
}

const Target& generator_of(const CompileServices& services) {
  const auto found =
      std::ranges::find_if(services.backends, [](const auto& target) { return target->name() == "halide"; });
  INTARSIA_CHECK(found != services.backends.end());
  return **found;
}

CostExchange exchange_of(const char* cache, const char* path) {
  return {.path = path, .folder = cache_folder(cache == nullptr ? "" : cache)};
}

Json describe_times(const CostFile& file, const std::string& path) {
  return {{"file", path},
          {"machine", file.machine},
          {"architecture", file.architecture},
          {"cpu", file.cpu},
          {"kernels", file.kernels.size()}};
}

Status export_times(const char* cache, const char* cpu, const char* path, char** json) {
  CostExchange exchange = exchange_of(cache, path);
  if (cpu != nullptr && *cpu != '\0') exchange.cpu = cpu;
  const CompileServices services = TRY(open_generator());
  const CostFile file = TRY(export_costs(exchange, generator_of(services)));
  give_text(describe_times(file, path).dump(2), json);
  return {};
}

Status import_times(const char* cache, const char* path, char** json) {
  const CompileServices services = TRY(open_generator());
  const ImportedCosts imported = TRY(import_costs(exchange_of(cache, path), generator_of(services)));
  Json report = describe_times(imported.file, path);
  report["taken"] = imported.file.kernels.size() - imported.known;
  report["known"] = imported.known;
  report["warning"] = imported.warning.empty() ? Json(nullptr) : Json(imported.warning);
  give_text(report.dump(2), json);
  return {};
}

/// Checks what only a folder of kernels needs: one processor, which does not run here.
Status check_pack(const CompileRequest& request) {
  if (!request.cpus.empty()) return fail("--cpu: kernels are timed on one machine; name its processor alone");
  if (request.tune == Tune::off) return fail("--tune off: there would be no kernels to time; leave it out");
  if (runs_here(request.cpu))
    return fail(
        "--cpu {}: its code runs here, where intarsia compile measures it; name the processor of a "
        "machine that this one is not, with --arch if it is of another architecture",
        request.cpu);
  return {};
}

Status pack(const intarsia_compile_request& from, const std::string& folder, char** json) {
  ReadRequest read = TRY(read_request(from));
  CompileRequest& request = read.request;
  if (request.model_path.empty()) return fail("no model to take kernels of");
  TRY(check_pack(request));
  TRY(check_new_folder(folder));
  request.dry_run = true;
  const Arch arch = TRY(resolve_cpu(request.cpu)).arch;
  const KernelTimer timer = TRY(open_kernel_timer(arch));
  CompileServices services = TRY(make_services(read));
  TunePack pack;
  services.take_kernels = [&](const KernelBatch& batch) { pack.take(batch); };
  services.observer.progress.expect(1);
  TRY(compile_model(request, services));
  if (pack.kernels() == 0)
    return fail(ErrorKind::unsupported,
                "model '{}': no kernel has variants to choose from by their times; compile it as it is",
                request.model_path);
  TRY(pack.write(folder, request.cpu, arch, timer));
  const Json report{{"folder", folder},
                    {"architecture", arch_name(arch)},
                    {"cpu", request.cpu},
                    {"threads", request.threads},
                    {"kernels", pack.kernels()}};
  give_text(report.dump(2), json);
  return {};
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_export_costs(const char* cache, const char* cpu, const char* path, char** json) {
  return guarded([&]() -> Status {
    if (path == nullptr) return fail("intarsia_export_costs got a null pointer");
    return export_times(cache, cpu, path, json);
  });
}

intarsia_error* intarsia_import_costs(const char* cache, const char* path, char** json) {
  return guarded([&]() -> Status {
    if (path == nullptr) return fail("intarsia_import_costs got a null pointer");
    return import_times(cache, path, json);
  });
}

intarsia_error* intarsia_tune_pack(const intarsia_compile_request* request, const char* folder, char** json) {
  return guarded([&]() -> Status {
    if (request == nullptr || folder == nullptr) return fail("intarsia_tune_pack got a null pointer");
    return pack(*request, folder, json);
  });
}
