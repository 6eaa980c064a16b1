#include "tests/support/region_on_board.h"

#include <fmt/ranges.h>

#include <fstream>
#include <sstream>

#include "backends/halide/abi/region_plan_generated.h"
#include "tests/support/test_folder.h"

namespace intarsia::test {
namespace {

namespace fbs = halide::fbs;

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), tensor.bytes()};
}

/// Writes the program: tensors as memory with names, the plan's calls one after the other.
class Writer {
 public:
  Writer(const Graph& graph, const CompiledRegion& region, const TestFolder& folder)
      : region_(region), folder_(folder), plan_(*fbs::GetRegionPlan(region.blob.data())) {
    for (ValueId id : graph.outputs) {
      const ValueType& type = graph.value(id).type;
      output_bytes_.push_back(
          dtype_bytes(type.dtype, static_cast<size_t>(element_count(*type.fixed_shape()))));
    }
  }

  std::string write(const std::vector<Tensor>& inputs, int times) {
    text_ = "#include \"tests/support/board/region.h\"\n";
    for (size_t i = 0; i < inputs.size(); ++i) add_file(fmt::format("input{}", i), bytes_of(inputs[i]));
    for (size_t i = 0; i < region_.constants.size(); ++i)
      add_file(fmt::format("constant{}", i), bytes_of(region_.constants[i]));
    for (size_t i = 0; i < output_bytes_.size(); ++i)
      add("static _Alignas(64) uint8_t output{}[{}];\n", i, output_bytes_[i] + 64);
    add("static _Alignas(64) uint8_t workspace0[{}];\n", region_.workspace_bytes + 64);
    for (const fbs::Kernel* kernel : *plan_.kernels())
      add("int {}(void** arguments);\n", kernel->symbol()->str());
    add("int main(void) {{\n  struct HalideKernelRuntime runtime = {{run_loop, take, give_back, say, 0, "
        "0}};\n");
    add("  void* context = &runtime;\n  for (int run = 0; run < {}; ++run) {{\n", times);
    for (const fbs::Call* call : *plan_.calls()) add_call(*call);
    add("  }}\n");
    for (size_t i = 0; i < output_bytes_.size(); ++i)
      add("  write_file(\"{}\", output{}, {});\n", output_path(i), i, output_bytes_[i]);
    add("  return 0;\n}}\n");
    return text_;
  }

  std::string output_path(size_t i) const { return folder_ / fmt::format("output{}.bin", i); }

 private:
  template <typename... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    text_ += fmt::format(format, std::forward<T>(values)...);
  }

  /// Adds bytes of a file, after which a vector may be read.
  void add_file(const std::string& name, std::string_view bytes) {
    const std::string path = folder_ / (name + ".bin");
    write_bytes(path, bytes);
    add("__asm__(\".section .data\\n.balign 64\\n.global {0}\\n{0}: .incbin \\\"{1}\\\"\\n.space "
        "64\\n.previous\");\nextern uint8_t {0}[];\n",
        name, path);
  }

  void add_call(const fbs::Call& call) {
    constexpr const char* names[] = {"input", "output", "constant", "workspace"};
    const fbs::Kernel& kernel = *plan_.kernels()->Get(call.kernel());
    add("  for (int i = 0; i < {}; ++i) {{\n    void* arguments[{}] = {{&context}};\n", call.times(),
        call.places()->size() + 1);
    for (unsigned a = 0; a < call.places()->size(); ++a) {
      const fbs::Place& place = *call.places()->Get(a);
      const fbs::Argument& argument = *kernel.arguments()->Get(a);
      add("    const struct HalideDimension dimensions{}[] = {{{}{{0}}}};\n", a, dimensions(argument));
      add("    struct HalideBuffer buffer{0} = {{.host = {1}{2} + {3} + i * {4}, .type = {{{5}}}, "
          ".dimensions "
          "= {6}, .dim = dimensions{0}}};\n    arguments[{0} + 1] = &buffer{0};\n",
          a, names[static_cast<size_t>(place.where())],
          place.where() == fbs::Where::workspace ? 0 : place.index(), place.offset(),
          call.steps() == nullptr ? 0 : call.steps()->Get(a),
          element_type(static_cast<DType>(argument.dtype())), argument.extents()->size());
    }
    add("    if ({}(arguments) != 0) return 97;\n  }}\n", kernel.symbol()->str());
  }

  static std::string dimensions(const fbs::Argument& argument) {
    std::string text;
    for (unsigned i = 0; i < argument.extents()->size(); ++i)
      text += fmt::format("{{0, {}, {}, 0}}, ", argument.extents()->Get(i), argument.strides()->Get(i));
    return text;
  }

  /// Returns type code, bits and lanes; code without checks does not read them.
  static std::string element_type(DType dtype) { return fmt::format("0, {}, 1", dtype_bits(dtype)); }

  const CompiledRegion& region_;
  const TestFolder& folder_;
  const fbs::RegionPlan& plan_;
  std::vector<size_t> output_bytes_;
  std::string text_;
};

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

bool has_boards() {
  return std::system(
             "command -v arm-none-eabi-gcc qemu-system-arm clang-19 >/dev/null && "
             "test -f \"$(arm-none-eabi-gcc -print-file-name=rdimon.specs)\"") == 0;
}

namespace {

/// Runs a region; `settings`: variables of run_on_board.sh.
Result<BoardRun> run_with(const std::string& settings, const std::string& cpu, const Graph& graph,
                          const CompiledRegion& region, const std::vector<Tensor>& inputs, int times) {
  const TestFolder folder;
  Writer writer(graph, region, folder);
  write_bytes(folder / "main.c", writer.write(inputs, times));
  std::string command = fmt::format(
      "{} " INTARSIA_SOURCE "/tests/support/board/run_on_board.sh {} '{}' -I " INTARSIA_SOURCE " '{}'",
      settings, cpu, folder.path().string(), folder / "main.c");
  for (size_t i = 0; i < region.object_files.size(); ++i) {
    const std::string path = folder / fmt::format("{}.o", i);
    write_bytes(path, region.object_files[i]);
    command += fmt::format(" '{}'", path);
  }
  const int status = std::system(fmt::format("{} >'{}' 2>&1", command, folder / "log").c_str());
  BoardRun run{{}, read_text(folder / "log")};
  if (status != 0) return fail("{} on {}: {}", WEXITSTATUS(status), cpu, run.log);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueType& type = graph.value(graph.outputs[i]).type;
    run.outputs.emplace_back(type.dtype, *type.fixed_shape());
    const std::string bytes = read_text(writer.output_path(i));
    if (bytes.size() != run.outputs[i].bytes()) return fail("output {} has {} bytes", i, bytes.size());
    std::memcpy(run.outputs[i].data(), bytes.data(), bytes.size());
  }
  return run;
}

}  // namespace

Result<BoardRun> run_on_board(const std::string& cpu, const Graph& graph, const CompiledRegion& region,
                              const std::vector<Tensor>& inputs, int times) {
  return run_with("", cpu, graph, region, inputs, times);
}

Result<int64_t> count_on_board(const std::string& cpu, const Graph& graph, const CompiledRegion& region,
                               const std::vector<Tensor>& inputs) {
  const TestFolder folder;
  const std::string plugin = folder / "count.so";
  const std::string build = fmt::format(INTARSIA_C_COMPILER " -shared -fPIC -O2 " INTARSIA_SOURCE
                                                            "/tests/support/count_instructions.c -o {}",
                                        plugin);
  if (std::system(build.c_str()) != 0) return fail("the plug-in does not compile");
  const auto count = [&](int times) -> Result<int64_t> {
    const BoardRun run = TRY(run_with("PLUGIN=" + plugin, cpu, graph, region, inputs, times));
    const std::string before = "instructions ";
    const size_t at = run.log.find(before);
    if (at == std::string::npos) return fail("{} prints no number: {}", plugin, run.log);
    return std::stoll(run.log.substr(at + before.size()));
  };
  const int64_t three = TRY(count(3)), two = TRY(count(2));
  return three - two;
}

}  // namespace intarsia::test
