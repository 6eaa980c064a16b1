#include "target/exchange_costs.h"

#include "base/bytes.h"
#include "base/cpu_level.h"
#include "base/files/mapped_file.h"
#include "base/files/output_file.h"
#include "target/machine_name.h"

namespace intarsia {
namespace {

std::string name_of_this_machine() { return machine_name(read_machine_facts()); }

/// Returns the architecture of a processor's code.
Result<std::string> arch_of_cpu(const std::string& cpu) { return arch_name(TRY(resolve_cpu(cpu)).arch); }

Status check_generator(const CostFile& file, const Target& generator) {
  const std::string code = generator.info().code_generation;
  if (file.backend == generator.name() && file.version == generator.version() && file.code == code) return {};
  return fail(
      ErrorKind::version,
      "it has times of kernels of {} {} ({}), and this Intarsia generates those of {} {} ({}): measure "
      "again with what this version writes (intarsia tune-pack, or compile and costs export)",
      file.backend, file.version, file.code, generator.name(), generator.version(), code);
}

/// Checks that some compile here can use the times.
Status check_use(const CostFile& file) {
  const std::string here = name_of_this_machine();
  const std::string arch = TRY(arch_of_cpu(file.cpu));
  if (file.architecture != arch)
    return fail("\"machine\": its architecture is {}, and \"cpu\" {} is of {}", file.architecture, file.cpu,
                arch);
  if (file.machine == here || !runs_here(file.cpu)) return {};
  if (file.cpu == "native")
    return fail(
        ErrorKind::unsupported,
        "it has times of native code of the machine '{}', which no compile on this machine, '{}', can use: "
        "compile there for a processor that does not run here, and export with the same --cpu",
        file.machine, here);
  return fail(ErrorKind::unsupported,
              "it has times of code for {} of the machine '{}', which runs on this machine, '{}', where "
              "compiles measure it themselves: import it where that code does not run",
              file.cpu, file.machine, here);
}

std::string warning_of(const CostTable& table) {
  return table.warning().empty() ? "" : fmt::format(" ({})", table.warning());
}

/// Makes the table about the machine whose times a compile for the processor uses.
Status choose_machine(CostTable& table, const std::string& cpu) {
  if (runs_here(cpu)) return {};
  const std::optional<ImportedTimes> imported = table.find_imported(cpu);
  if (!imported)
    return fail(
        ErrorKind::not_found,
        "--cpu {}: its code does not run here, and no times were imported for it{}; intarsia tune-pack "
        "makes a folder to measure them with",
        cpu, warning_of(table));
  table.set_machine(imported->machine);
  return {};
}

}  // namespace

Result<CostFile> export_costs(const CostExchange& exchange, const Target& generator) {
  const std::string arch = TRY(arch_of_cpu(exchange.cpu));
  TRY(check_output(exchange.path, {}));
  CostTable table(exchange.folder);
  TRY(choose_machine(table, exchange.cpu));
  CostFile file{table.machine(),
                arch,
                exchange.cpu,
                generator.name(),
                generator.version(),
                generator.info().code_generation,
                {}};
  file.kernels = table.list_kernels(file.backend, file.version, file.code);
  if (file.kernels.empty())
    return fail(ErrorKind::not_found,
                "no time of a kernel of this version is known for '{}'{}: compile a model first, or name "
                "another folder with --cache",
                file.machine, warning_of(table));
  TRY(write_whole(exchange.path, print_cost_file(file)));
  return file;
}

Result<ImportedCosts> import_costs(const CostExchange& exchange, const Target& generator) {
  const auto read = [&]() -> Result<CostFile> {
    const MappedFile mapped = TRY(map_file(exchange.path));
    CostFile file = TRY(with_kind(ErrorKind::corrupt, read_cost_file(as_text(mapped.bytes))));
    TRY(check_generator(file, generator));
    TRY(with_kind(ErrorKind::corrupt, check_use(file)));
    return file;
  };
  ImportedCosts imported{.file = TRY(with_context(read(), "times '{}'", exchange.path))};
  const CostFile& file = imported.file;
  CostTable table(exchange.folder);
  table.set_machine(file.machine);
  std::vector<CostKey> keys;
  for (const auto& [key, cost] : file.kernels) keys.push_back(key);
  const std::map<CostKey, Cost> known = table.find(keys);
  for (const auto& [key, cost] : file.kernels) {
    const auto row = known.find(key);
    imported.known += row != known.end() && row->second.timing.nanoseconds == cost.timing.nanoseconds;
  }
  TRY(table.import(runs_here(file.cpu) ? "" : file.cpu, file.kernels));
  imported.warning = table.warning();
  return imported;
}

}  // namespace intarsia
