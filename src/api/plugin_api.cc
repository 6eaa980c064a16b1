// Part of the C API that loads plug-ins.
#include "api/handles.h"
#include "api/struct_sizes.h"
#include "plugin/loaded_plugins.h"

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_load_plugin(const char* path) {
  return guarded([&]() -> Status {
    if (path == nullptr) return fail("intarsia_load_plugin got a null pointer");
    return load_plugin(path);
  });
}

size_t intarsia_plugin_count(void) {
  size_t count = 0;
  const Status counted = caught([&]() -> Status {
    count = loaded_plugins().size();
    return {};
  });
  return counted ? count : 0;
}

intarsia_error* intarsia_plugin_info(size_t index, intarsia_plugin_description* info) {
  return guarded([&]() -> Status {
    const auto plugins = loaded_plugins();
    if (index >= plugins.size()) return fail("no plug-in {}; there are {}", index, plugins.size());
    const Plugin& plugin = *plugins[index];
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .name = plugin.name().c_str(),
                              .version = plugin.version().c_str(),
                              .path = plugin.path().c_str()});
  });
}
