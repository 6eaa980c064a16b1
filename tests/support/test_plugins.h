// Libraries that are made of support/test_plugin.c.
#pragma once

#include <string>

namespace intarsia {

/// Returns the path of a variant: "good".
inline std::string path_of(const std::string& variant) {
  return std::string(TEST_PLUGINS "/libtest_plugin_") + variant + ".so";
}

}  // namespace intarsia
