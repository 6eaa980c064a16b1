// Libraries that are taken as plug-ins, with older and newer headers, and the reason for each that is not.
//
// Covers: src/plugin/ loaded_plugins.cc plugin_library.cc
#include "plugin/loaded_plugins.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/test_folder.h"
#include "tests/support/test_plugins.h"

namespace intarsia::test {
namespace {

/// Returns the error of opening a plug-in; "none" if it opens.
std::string open_error(const std::string& variant) {
  const auto opened = Plugin::open(path_of(variant));
  return opened ? "none" : opened.error().message;
}

TEST(Plugins, OfThisHeader) {
  const auto plugin = Plugin::open(path_of("good"));
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_EQ((*plugin)->who(), "plug-in 'test_npu' 1.2");
  EXPECT_NE((*plugin)->compiler(), nullptr);
  EXPECT_NE((*plugin)->runtime().shapes, nullptr);
  EXPECT_EQ((*plugin)->runtime().alignment, 64u);
}

TEST(Plugins, WhatAnOlderHeaderLacksIsAbsent) {
  const auto plugin = Plugin::open(path_of("older"));
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_NE((*plugin)->runtime().run, nullptr);
  EXPECT_EQ((*plugin)->runtime().shapes, nullptr);
  EXPECT_NE((*plugin)->compiler()->compile, nullptr);
  EXPECT_EQ((*plugin)->compiler()->cost, nullptr);
  EXPECT_EQ((*plugin)->compiler()->copy_latency_ns, 0);
}

TEST(Plugins, WhatANewerHeaderAddsIsNotRead) {
  const auto plugin = Plugin::open(path_of("newer"));
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_NE((*plugin)->runtime().shapes, nullptr);
  EXPECT_NE((*plugin)->compiler()->cost, nullptr);
  EXPECT_EQ((*plugin)->compiler()->copy_ns_per_byte, 0.5);
}

TEST(Plugins, OneThatOnlyRuns) {
  const auto plugin = Plugin::open(path_of("runs_only"));
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_EQ((*plugin)->compiler(), nullptr);
}

TEST(Plugins, WhatIsNone) {
  const struct {
    const char* variant;
    std::string says;
  } cases[] = {{"wrong_abi", "it has ABI 2, want 1: build it against this intarsia/plugin.h"},
               {"too_short", "struct_size of its runtime is 64, want at least 128"},
               {"without_run", "its runtime has no run()"},
               {"without_entry", "does not export intarsia_plugin_entry"},
               {"wrong_copy_time", "its copies take -1 ns and 0.5 ns a byte; want numbers from 0 to 1e9"},
               {"gives_null", "intarsia_plugin_entry gave none"},
               {"bad_name", "its name is 'Test NPU'; want lowercase letters, digits and underscores"},
               {"taken_name", "its name 'halide' is taken"},
               {"bad_version", "its version is '1 2'; want one word, as in 1.4.2"}};
  for (const auto& [variant, says] : cases) {
    const std::string error = open_error(variant);
    EXPECT_NE(error.find(says), std::string::npos) << variant << ": " << error;
    EXPECT_NE(error.find("plug-in '" + path_of(variant) + "'"), std::string::npos) << error;
  }
  EXPECT_EQ(Plugin::open(path_of("wrong_abi")).error().kind, ErrorKind::version);
}

TEST(Plugins, WhatIsNoLibrary) {
  const TestFolder folder;
  EXPECT_EQ(Plugin::open(folder / "none.so").error().kind, ErrorKind::not_found);
  EXPECT_NE(Plugin::open(folder / "").error().message.find("folder"), std::string::npos);
  std::ofstream(folder / "text.so") << "not a library";
  EXPECT_NE(Plugin::open(folder / "text.so").error().message.find("cannot be loaded"), std::string::npos);
}

TEST(Plugins, LoadedTwiceIsLoadedOnce) {
  const size_t before = loaded_plugins().size();
  ASSERT_TRUE(load_plugin(path_of("good")));
  ASSERT_TRUE(load_plugin(path_of("good")));
  EXPECT_EQ(loaded_plugins().size(), before + 1);
  ASSERT_NE(find_plugin("test_npu"), nullptr);
  EXPECT_EQ(find_plugin("other"), nullptr);
}

TEST(Plugins, TwoOfOneNameAreAnError) {
  ASSERT_TRUE(load_plugin(path_of("good")));
  const Status twin = load_plugin(path_of("twin"));
  ASSERT_FALSE(twin);
  EXPECT_EQ(twin.error().message, "plug-in '" + path_of("twin") + "' is named 'test_npu', as the one of '" +
                                      path_of("good") + "' that is loaded; load one of them");
}

TEST(Plugins, MajorVersions) {
  EXPECT_EQ(major_of("1.2"), "1");
  EXPECT_EQ(major_of("2026"), "2026");
}

}  // namespace
}  // namespace intarsia::test
