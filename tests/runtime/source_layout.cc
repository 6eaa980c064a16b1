// Display of values in the source's layout, whatever layout a backend prefers.
//
// Covers: src/runtime/ source_layout.cc
#include "runtime/source_layout.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

TEST(SourceLayout, ChannelsLastBecomeChannelsFirst) {
  // Channels: two of 2 x 3 pixels; channel 0 has 0 ... 5, channel 1 has 10 ... 15.
  const std::vector<float> stored{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15};
  const Tensor source =
      in_source_layout({stored.data(), DType::f32, {1, 2, 3, 2}}, std::vector<uint8_t>{0, 2, 3, 1});
  EXPECT_EQ(source.shape(), (Shape{1, 2, 2, 3}));
  const auto numbers = source.as<float>();
  EXPECT_EQ(std::vector(numbers.begin(), numbers.end()),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}));
}

TEST(SourceLayout, OneByteElementsThreeAxesAndNoElements) {
  const std::string stored = "abcdef";  // 3 x 1 x 2
  const Tensor source =
      in_source_layout({stored.data(), DType::u8, {3, 1, 2}}, std::vector<uint8_t>{2, 1, 0});
  EXPECT_EQ(source.shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(std::string(static_cast<const char*>(source.data()), 6), "acebdf");
  const Tensor none = in_source_layout({stored.data(), DType::u8, {0, 4}}, std::vector<uint8_t>{1, 0});
  EXPECT_EQ(none.shape(), (Shape{4, 0}));
}

}  // namespace
}  // namespace intarsia
