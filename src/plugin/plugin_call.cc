#include "plugin/plugin_call.h"

#include "plugin/one_line.h"

namespace intarsia {
namespace {

ErrorKind kind_of(int32_t status) {
  switch (status) {
    case INTARSIA_PLUGIN_UNSUPPORTED:
      return ErrorKind::unsupported;
    case INTARSIA_PLUGIN_OUT_OF_MEMORY:
      return ErrorKind::out_of_memory;
    case INTARSIA_PLUGIN_DEVICE_LOST:
      return ErrorKind::device_lost;
    default:
      return ErrorKind::io;
  }
}

}  // namespace

Status check_plugin_status(std::string_view who, std::string_view what, int32_t status,
                           PluginMessage& message) {
  if (status == INTARSIA_PLUGIN_OK) return {};
  const std::string text = one_line(message.text());
  if (!text.empty()) return fail(kind_of(status), "{}: {}: {}", who, what, text);
  return fail(kind_of(status), "{}: {}: it failed with status {} and no message", who, what, status);
}

}  // namespace intarsia
