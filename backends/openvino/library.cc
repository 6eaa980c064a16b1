#include "backends/openvino/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/bytes.h"
#include "base/files/temporary_folder.h"

namespace intarsia::openvino {
namespace {

constexpr ForeignLibrary openvino{"OpenVINO", "ov_get_openvino_version", "libopenvino_c.so",
                                  "INTARSIA_OPENVINO", "openvino"};

template <typename Function>
Status find(const OpenedLibrary& library, const char* name, Function& function) {
  function = as_function<Function>(dlsym(library.handle, name));
  if (function != nullptr) return {};
  return fail(ErrorKind::version, "{} lacks {}, which OpenVINO has from 2023.0 on; {}", library.path, name,
              openvino.remedy());
}

#define INTARSIA_FIND(name) TRY(find(library, #name, api.name))

Result<Api> find_functions(const OpenedLibrary& library) {
  Api api{};
  INTARSIA_FIND(ov_get_openvino_version);
  INTARSIA_FIND(ov_version_free);
  INTARSIA_FIND(ov_get_error_info);
  INTARSIA_FIND(ov_get_last_err_msg);
  INTARSIA_FIND(ov_free);
  INTARSIA_FIND(ov_core_create);
  INTARSIA_FIND(ov_core_read_model);
  INTARSIA_FIND(ov_core_read_model_from_memory_buffer);
  INTARSIA_FIND(ov_core_compile_model);
  INTARSIA_FIND(ov_core_get_available_devices);
  INTARSIA_FIND(ov_available_devices_free);
  INTARSIA_FIND(ov_core_free);
  INTARSIA_FIND(ov_model_reshape);
  INTARSIA_FIND(ov_model_inputs_size);
  INTARSIA_FIND(ov_model_outputs_size);
  INTARSIA_FIND(ov_model_const_output_by_index);
  INTARSIA_FIND(ov_model_free);
  INTARSIA_FIND(ov_port_get_any_name);
  INTARSIA_FIND(ov_port_get_element_type);
  INTARSIA_FIND(ov_port_get_partial_shape);
  INTARSIA_FIND(ov_partial_shape_free);
  INTARSIA_FIND(ov_output_const_port_free);
  INTARSIA_FIND(ov_compiled_model_inputs_size);
  INTARSIA_FIND(ov_compiled_model_outputs_size);
  INTARSIA_FIND(ov_compiled_model_input_by_index);
  INTARSIA_FIND(ov_compiled_model_output_by_index);
  INTARSIA_FIND(ov_compiled_model_create_infer_request);
  INTARSIA_FIND(ov_compiled_model_get_property);
  INTARSIA_FIND(ov_compiled_model_free);
  INTARSIA_FIND(ov_infer_request_set_tensor);
  INTARSIA_FIND(ov_infer_request_set_input_tensor_by_index);
  INTARSIA_FIND(ov_infer_request_set_output_tensor_by_index);
  INTARSIA_FIND(ov_infer_request_get_output_tensor_by_index);
  INTARSIA_FIND(ov_infer_request_infer);
  INTARSIA_FIND(ov_infer_request_start_async);
  INTARSIA_FIND(ov_infer_request_wait);
  INTARSIA_FIND(ov_infer_request_get_profiling_info);
  INTARSIA_FIND(ov_profiling_info_list_free);
  INTARSIA_FIND(ov_infer_request_free);
  INTARSIA_FIND(ov_tensor_create_from_host_ptr);
  INTARSIA_FIND(ov_tensor_get_shape);
  INTARSIA_FIND(ov_shape_free);
  INTARSIA_FIND(ov_tensor_get_element_type);
  INTARSIA_FIND(ov_tensor_data);
  INTARSIA_FIND(ov_tensor_free);
  return api;
}

#undef INTARSIA_FIND

/// Variants of the part of oneTBB that, while threads compute in OpenVINO, lets them run on all cores of a
/// NUMA node, whatever cores they were pinned to. TBB looks for it beside the file that it was loaded from
/// itself.
constexpr const char* thread_movers[] = {"libtbbbind_2_5.so.3", "libtbbbind_2_0.so.3", "libtbbbind.so.3"};

/// Loads the TBB that lies beside OpenVINO through a link in an empty folder.
void load_tbb_alone(const LibrarySearch& search) {
  constexpr const char* name = "libtbb.so.12";
  const std::vector<std::string> files = list_files(openvino, search);
  if (files.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(files.front()).parent_path();
  std::error_code error;
  if (!std::filesystem::exists(folder / name, error)) return;
  const Result<TemporaryFolder> alone = TemporaryFolder::make("intarsia-tbb");
  if (!alone) return;
  const std::filesystem::path link = alone->path() / name;
  std::filesystem::create_symlink(folder / name, link, error);
  if (!error) dlopen(link.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Joins the lines of OpenVINO's messages, without empty ones and those for each function that an exception
/// passed.
std::string join_lines(std::string_view text) {
  std::string joined;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line.starts_with("Exception from ")) continue;
    joined += (joined.empty() ? "" : "; ") + std::string(line);
  }
  return joined;
}

}  // namespace

Status Library::check_stays_on_cores() {
  for (const char* mover : thread_movers) {
    if (dlopen(mover, RTLD_NOW | RTLD_NOLOAD) == nullptr) continue;
    return fail(
        "OpenVINO cannot be pinned to cores: this process has loaded {}, which moves its threads; load the "
        "program before anything else that uses oneTBB, as Python's package openvino",
        mover);
  }
  return {};
}

LibrarySearch default_search() {
  return search_for(openvino, "libopenvino_c.so", "openvino/libs/libopenvino_c.so.*");
}

Status Library::check(OvStatus status) const {
  if (status == 0) return {};
  const char* message = api_.ov_get_last_err_msg();  // a copy, which the caller owns
  const std::string text = message != nullptr && *message != 0 ? message : api_.ov_get_error_info(status);
  if (message != nullptr) api_.ov_free(message);
  return fail("{}", join_lines(text));
}

Result<Library> Library::open(const LibrarySearch& search, Binding binding) {
  if (binding == Binding::ours) load_tbb_alone(search);
  const OpenedLibrary opened = TRY(open_foreign_library(openvino, search));
  Library library;
  library.api_ = TRY(find_functions(opened));
  Version version{};
  TRY(library.check(library.api_.ov_get_openvino_version(&version)));
  const std::string build = version.build;
  library.version_ = build.substr(0, build.find('-'));
  library.api_.ov_version_free(&version);
  return library;
}

Result<const Library*> Library::get(Binding binding) {
  static std::mutex mutex;
  static const Library* library = nullptr;  // never freed: objects of it may outlive every static object
  std::lock_guard lock(mutex);
  if (library == nullptr) {
    Library opened = TRY(open(default_search(), binding));
    library = new Library(std::move(opened));
  }
  return library;
}

}  // namespace intarsia::openvino
