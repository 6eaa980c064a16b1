// Compiling a model file to a program file, in four steps. Whoever needs less than a program takes fewer
// steps.
#pragma once

#include "compile/functions.h"
#include "compile/pass_runner.h"
#include "emit_c/emit_c.h"
#include "program/program_size.h"

namespace intarsia {

/// What a compile for one of several CPUs gave.
struct CompiledVariant {
  std::string cpu;                           // as the request names it
  bool runs_here = false;                    // whether this machine has what it demands
  bool is_taken = false;                     // whether it is the one that runs here
  std::optional<PrecisionReport> precision;  // nullopt if products of f32 had to be exact
};

/// Outcome of a compile; with several CPUs, that of the variant that runs here, or else of the last one.
struct CompileResult {
  std::vector<CompiledFunction> functions;  // at least one; steps after stop_after left nothing in them
  uint64_t constants_bytes = 0;             // size as stored in the program: equal constants count once
  std::optional<ProgramSize> size;          // nullopt if no program was written
  double seconds = 0;
  bool stopped = false;                      // whether stop_after ended the compile
  std::optional<PrecisionReport> precision;  // nullopt if products of f32 had to be exact
  std::vector<CompiledVariant> variants;     // most demanding first; empty for one CPU
  std::optional<CEmission> plain_c;          // nullopt unless plain C is asked for
};

/// Returns the names that print_after and stop_after take, in order. print_after also takes steps of
/// backends: "halide.fuse".
std::vector<std::string> pass_names();

/// Compiles the model. The program is written whole or not at all. Errors name the model and a remedy.
Result<CompileResult> compile_model(const CompileRequest& request, const CompileServices& services);

/// Reads the model and gives every value a type. Errors: those of the importer, shapes of the request that do
/// not fit.
Result<std::vector<ImportedFunction>> import_functions(PassRunner& passes);

/// Gives every value of a graph a type likewise; the function gets this name.
Result<ImportedFunction> import_graph(PassRunner& passes, const std::string& name, Graph graph);

/// Plans the function as the request, the model and the order of the backends place it; no times are
/// compared.
Result<PlannedFunction> place_function(PassRunner& passes, const ImportedFunction& imported);

/// Plans the function likewise, and reports what is known of the times of this plan and of its rivals,
/// without measuring any.
Result<PlannedFunction> recall_plan(PassRunner& passes, const ImportedFunction& imported);

/// Chooses the plan that ships, with its alternatives and stages. `compiler` compiles plans to be measured.
Result<PlannedFunction> plan_function(PassRunner& passes, const ImportedFunction& imported,
                                      RegionCompiler& compiler);

/// Compiles the regions of the plan and of its alternatives; those that do not compile are left out.
Result<CompiledFunction> compile_plan(PassRunner& passes, PlannedFunction planned, RegionCompiler& compiler);

/// Plans and compiles the function, and does so again without the regions that plug-ins refused while they
/// refuse more, and finally without any plug-in. `regions` shows how far it is.
Result<CompiledFunction> compile_function(PassRunner& passes, const ImportedFunction& imported,
                                          Progress regions);

/// Writes the program of all functions of the result, and adds its sizes.
Status emit_program(PassRunner& passes, CompileResult& result);

}  // namespace intarsia
