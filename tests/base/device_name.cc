// Names of devices, taken apart.
//
// Covers: src/base/ device_name.cc
#include "base/device_name.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

TEST(DeviceName, Parts) {
  const auto parts = [](std::string_view text) {
    const DeviceName name = *DeviceName::parse(text);
    EXPECT_EQ(name.text, text);
    std::string settings;
    for (const DeviceSetting& setting : name.settings) settings += setting.name + "=" + setting.value + ";";
    return std::vector{name.kind, name.unit, name.cores ? name.cores->text() : "any", settings,
                       name.without_settings()};
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(parts("cpu"), (Parts{"cpu", "", "any", "", "cpu"}));
  EXPECT_EQ(parts("cpu:0-1+4"), (Parts{"cpu", "0-1+4", "0-1+4", "", "cpu:0-1+4"}));
  EXPECT_EQ(parts("opencl:1?cores=0-2"), (Parts{"opencl", "1", "0-2", "cores=0-2;", "opencl:1"}));
  EXPECT_EQ(parts("openvino:GPU.1"), (Parts{"openvino", "GPU.1", "any", "", "openvino:GPU.1"}));
  EXPECT_EQ(parts("sim:0?times=a:b?c=d&gbps=5"),
            (Parts{"sim", "0", "any", "times=a:b?c=d;gbps=5;", "sim:0"}));
  EXPECT_EQ(parts("npu:0?cores=many&&flag"), (Parts{"npu", "0", "any", "cores=many;=;flag=;", "npu:0"}));
  EXPECT_EQ(parts("npu?x=1"), (Parts{"npu", "", "any", "x=1;", "npu"}));
  EXPECT_EQ(parts(""), (Parts{"", "", "any", "", ""}));
}

TEST(DeviceName, Numbers) {
  const auto index = [](std::string_view text) { return DeviceName::parse(text)->index(); };
  EXPECT_EQ(*index("sim:12?gbps=5"), 12u);
  for (const char* text : {"sim:", "sim:x", "sim:1x", "sim:-1", "sim:+1", "sim:12345", "sim", "sim: 1"})
    EXPECT_EQ(index(text).error().message, "want sim:N with a number, as in sim:0") << text;
}

TEST(DeviceName, CoresAreChecked) {
  for (const char* text : {"cpu:", "cpu:x", "cpu:3-1", "cpu:0?x", "opencl:0?cores=", "opencl:0?cores=a"})
    EXPECT_FALSE(DeviceName::parse(text)) << text;
}

}  // namespace
}  // namespace intarsia
