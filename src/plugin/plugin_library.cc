#include "plugin/plugin_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "base/files/regular_file.h"

namespace intarsia {
namespace {

constexpr size_t on_this_machine(size_t of_64_bits, size_t of_32_bits) {
  return sizeof(void*) == 8 ? of_64_bits : of_32_bits;
}

/// Size of a struct in version 1 of the ABI without its optional functions: the minimum for a plug-in. Never
/// changes.
template <typename Struct>
inline constexpr size_t first_size = 0;
template <>
inline constexpr size_t first_size<intarsia_plugin> = on_this_machine(48, 24);
template <>
inline constexpr size_t first_size<intarsia_plugin_compiler> = on_this_machine(32, 16);
template <>
inline constexpr size_t first_size<intarsia_plugin_runtime> = on_this_machine(128, 64);

static_assert(first_size<intarsia_plugin_runtime> == offsetof(intarsia_plugin_runtime, shapes));
static_assert(first_size<intarsia_plugin_compiler> == offsetof(intarsia_plugin_compiler, cost));

template <>
inline constexpr size_t first_size<intarsia_plugin_option> = on_this_machine(24, 12);

constexpr size_t most_alignment = 4096;  // size of a page
constexpr uint32_t most_queues = 64;

/// Reads a struct of the plug-in; fields that its header lacks are zero, fields that ours lacks are not read.
template <typename Struct>
Result<Struct> read_struct(const Struct* given, const char* what) {
  if (given == nullptr) return fail("it has no {}", what);
  if (given->struct_size < first_size<Struct>)
    return fail(ErrorKind::version, "struct_size of its {} is {}, want at least {}", what, given->struct_size,
                first_size<Struct>);
  Struct known{};
  std::memcpy(&known, given, std::min(given->struct_size, sizeof(Struct)));
  return known;
}

bool is_name(std::string_view text) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_inner = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= 31 && is_lower(text[0]) && std::ranges::all_of(text, is_inner);
}

/// Checks whether a name is that of a backend, a device kind or a word of the command line.
bool is_taken(std::string_view name) {
  constexpr std::string_view taken[] = {"auto",        "cpu",    "cuda",      "halide", "host",
                                        "kernels",     "nobody", "null",      "opencl", "openvino",
                                        "onnxruntime", "plugin", "reference", "sim",    "tensorflow"};
  return std::ranges::find(taken, name) != std::end(taken);
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= 63 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Status check_compiler(const intarsia_plugin_compiler& compiler) {
  if (compiler.supports == nullptr) return fail("its compiler has no supports()");
  if (compiler.compile == nullptr) return fail("its compiler has no compile()");
  const auto is_time = [](double ns) { return ns >= 0 && ns <= 1e9; };
  if (!is_time(compiler.copy_latency_ns) || !is_time(compiler.copy_ns_per_byte))
    return fail("its copies take {} ns and {} ns a byte; want numbers from 0 to 1e9",
                compiler.copy_latency_ns, compiler.copy_ns_per_byte);
  return {};
}

Status check_options(const intarsia_plugin_runtime& runtime) {
  if (runtime.option_count == 0) return {};
  if (runtime.options == nullptr || runtime.open_device_with == nullptr)
    return fail("its runtime has options, but no list of them or no open_device_with()");
  for (size_t i = 0; i < runtime.option_count; ++i) {
    const intarsia_plugin_option option = TRY(read_struct(runtime.options[i], "option"));
    if (option.name == nullptr || !is_name(option.name))
      return fail("an option is named '{}'; want lowercase letters, digits and underscores",
                  option.name == nullptr ? "" : option.name);
  }
  return {};
}

Status check_runtime(const intarsia_plugin_runtime& runtime) {
  const bool has_memory = runtime.unified_memory == 0;
  const struct {
    const char* name;
    bool is_there;
  } functions[] = {{"device_count", runtime.device_count != nullptr},
                   {"open_device", runtime.open_device != nullptr},
                   {"close_device", runtime.close_device != nullptr},
                   {"allocate", runtime.allocate != nullptr || !has_memory},
                   {"free_memory", runtime.free_memory != nullptr || !has_memory},
                   {"upload", runtime.upload != nullptr || !has_memory},
                   {"download", runtime.download != nullptr || !has_memory},
                   {"move", runtime.move != nullptr || !has_memory},
                   {"wait", runtime.wait != nullptr},
                   {"release_event", runtime.release_event != nullptr},
                   {"load", runtime.load != nullptr},
                   {"unload", runtime.unload != nullptr},
                   {"run", runtime.run != nullptr}};
  for (const auto& [name, is_there] : functions)
    if (!is_there) return fail("its runtime has no {}()", name);
  if ((runtime.allocate_staging == nullptr) != (runtime.free_staging == nullptr))
    return fail("its runtime has only one of allocate_staging() and free_staging()");
  const size_t alignment = runtime.alignment;
  if (alignment > most_alignment || (alignment & (alignment - 1)) != 0)
    return fail("its alignment is {}; want a power of 2 of at most {}", alignment, most_alignment);
  if (runtime.compute_queues > most_queues)
    return fail("its devices have {} compute queues; want at most {}", runtime.compute_queues, most_queues);
  return check_options(runtime);
}

}  // namespace

std::string major_of(const std::string& version) { return version.substr(0, version.find('.')); }

Status Plugin::read() {
  const intarsia_plugin table = TRY(read_struct(table_, "plug-in"));
  if (table.abi != INTARSIA_PLUGIN_ABI)
    return fail(ErrorKind::version, "it has ABI {}, want {}: build it against this intarsia/plugin.h",
                table.abi, INTARSIA_PLUGIN_ABI);
  if (table.name == nullptr || !is_name(table.name))
    return fail("its name is '{}'; want lowercase letters, digits and underscores",
                table.name == nullptr ? "" : table.name);
  name_ = table.name;
  if (is_taken(name_)) return fail("its name '{}' is taken", name_);
  if (table.version == nullptr || !is_version(table.version))
    return fail("its version is '{}'; want one word, as in 1.4.2",
                table.version == nullptr ? "" : table.version);
  version_ = table.version;
  who_ = fmt::format("plug-in '{}' {}", name_, version_);
  runtime_ = TRY(read_struct(table.runtime, "runtime"));
  TRY(check_runtime(runtime_));
  if (runtime_.alignment == 0) runtime_.alignment = 64;
  if (runtime_.compute_queues == 0) runtime_.compute_queues = 1;
  if (table.compiler == nullptr) return {};
  compiler_ = TRY(read_struct(table.compiler, "compiler"));
  return check_compiler(*compiler_);
}

Result<std::shared_ptr<const Plugin>> Plugin::open(const std::string& path) {
  // Names without a slash would make the loader search its own folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  TRY(with_context(check_regular_file(file), "plug-in '{}'", path));
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr)
    return fail(ErrorKind::not_found, "plug-in '{}' cannot be loaded: {}", path, dlerror());
  using Entry = const intarsia_plugin* (*)();
  const Entry entry = as_function<Entry>(dlsym(handle, "intarsia_plugin_entry"));
  if (entry == nullptr)
    return fail("plug-in '{}' does not export intarsia_plugin_entry (see intarsia/plugin.h)", path);
  std::shared_ptr<Plugin> plugin(new Plugin);
  plugin->path_ = path;
  plugin->table_ = entry();
  if (plugin->table_ == nullptr)
    return fail(ErrorKind::unsupported, "plug-in '{}': intarsia_plugin_entry gave none: it cannot work here",
                path);
  TRY(with_context(plugin->read(), "plug-in '{}'", path));
  return plugin;
}

}  // namespace intarsia
