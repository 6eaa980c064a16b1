// Conversion of plug-in call results to our errors.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "include/intarsia/plugin.h"

namespace intarsia {

/// Buffer for the message of one call.
class PluginMessage {
 public:
  const intarsia_plugin_message* get() { return &out_; }
  std::string text() {
    text_[sizeof(text_) - 1] = 0;
    return text_;
  }

 private:
  char text_[1024] = {};
  intarsia_plugin_message out_{sizeof(out_), text_, sizeof(text_)};
};

/// Converts the status of a call: "plug-in 'toy_npu' 1.0: run on toy_npu:0: the chip is too hot". `who` is
/// "plug-in 'toy_npu' 1.0"; `what` is the call and its device.
Status check_plugin_status(std::string_view who, std::string_view what, int32_t status,
                           PluginMessage& message);

}  // namespace intarsia
