#include "cli/commands/bench_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/inputs/npy.h"
#include "cli/system/cores.h"

Json compile_for_bench(const std::string& model, const std::string& program, intarsia::CompileOptions compile,
                       double from, double to, const ShowProgress& progress) {
  compile.progress = [&](const std::string& phase, int done, int total) {
    progress(phase, from + (to - from) * static_cast<double>(done) / total);
  };
  return Json::parse(intarsia::Compiler::get().compile(model, program, compile));
}

size_t count_shapes(const BenchOptions& options) {
  const std::vector<GivenShape> shapes = parse_given_shapes(options.compile.shapes);
  if (options.is_program) check_shapes_of_program(shapes, options.mode == "latency");
  return options.mode == "latency" ? count_shapes(shapes) : 1;
}

Subject prepare_subject(const BenchOptions& options, const intarsia::CompileOptions& compile,
                        const TemporaryFolder& folder, const ShowProgress& progress) {
  Subject subject{
      options.is_program ? options.path : folder / "program.so", options.model, 1, {}, {}, nullptr};
  if (!options.is_program)
    subject.compiled = compile_for_bench(options.path, subject.program, compile, 0, compiled_at, progress);
  const auto program = intarsia::Program::load(subject.program);
  intarsia_program_info info{};
  info.struct_size = sizeof(info);
  intarsia::detail::check(intarsia_program_describe(program.get(), &info));
  if (subject.model.empty()) subject.model = info.model_path;
  subject.precision = info.precision;
  subject.threads = threads_of_run(options.compile.threads, info.threads);
  const std::vector<intarsia::Function> functions = program.functions();
  if (functions.size() != 1)
    throw intarsia::Error(
        fmt::format("{}: has {} functions; bench times programs with one", options.path, functions.size()));
  subject.function = functions[0];
  const std::vector<GivenShape> shapes = parse_given_shapes(options.compile.shapes);
  for (size_t number = 0; number < count_shapes(options); ++number)
    subject.inputs.push_back(
        inputs_at(program, functions[0], shapes, number, options.inputs, options.is_program));
  if (subject.model.empty() && !options.against.empty())
    throw intarsia::Error(options.path +
                          ": does not say which model it was compiled from; name it with --model");
  return subject;
}

Work make_work(const BenchOptions& options, const Subject& subject, const Json& inputs,
               const TemporaryFolder& folder) {
  return {subject.program,
          subject.threads,
          inputs,
          folder / "outputs",
          subject.function.name,
          options.compile.op_libraries,
          subject.precision,
          {}};
}

Json write_inputs(const InputValues& values, const TemporaryFolder& folder) {
  Json files = Json::array();
  for (const intarsia_tensor& tensor : values.tensors()) {
    const std::string file = folder / fmt::format("input{}.npy", files.size());
    write_npy(file, tensor);
    files.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"file", file}});
  }
  return files;
}

Json compare_outputs(const Json& ours, const Json& theirs, const std::string& precision) {
  const double tolerance = precision == "bf16" ? 6e-2 : precision == "f16" ? 1e-2 : -1;  // -1: the default
  if (ours.size() != theirs.size())
    throw intarsia::Error(fmt::format("has {} outputs, intarsia {}", theirs.size(), ours.size()));
  Json compared = Json::array();
  for (size_t i = 0; i < ours.size(); ++i) {
    Array a = read_npy(ours[i]["file"], ours[i]["dtype"]),
          b = read_npy(theirs[i]["file"], theirs[i]["dtype"]);
    const intarsia::View actual = a.view(), reference = b.view();
    const std::string name = ours[i]["name"];
    const auto report = intarsia::Compiler::get().compare(
        intarsia::detail::tensor(name, actual), intarsia::detail::tensor(name, reference), tolerance);
    compared.push_back(Json::parse(report.json));
  }
  return compared;
}

double largest_difference(const Json& result) {
  double difference = 0;
  if (result["outputs"].is_null()) return difference;
  for (const Json& output : result["outputs"])
    if (!output["max_rel"].is_null()) difference = std::max(difference, output["max_rel"].get<double>());
  return difference;
}
