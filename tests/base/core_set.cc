// Core sets as text, and threads bound to them.
//
// Covers: src/base/ core_set.cc
#include "base/core_set.h"

#include <gtest/gtest.h>

#include <thread>

namespace intarsia {
namespace {

TEST(CoreSet, Text) {
  for (const char* text : {"0", "2-5", "0-1+4", "7+9"}) EXPECT_EQ(CoreSet::parse(text).value().text(), text);
  EXPECT_EQ(CoreSet::parse("4+0+1+1-2").value().text(), "0-2+4");
  EXPECT_EQ(CoreSet::parse("0-1+4").value().size(), 3);
  for (const char* text : {"", "x", "1-", "-1", "3-1", "1++2", "0,1", "4096", "99999999999"}) {
    const auto set = CoreSet::parse(text);
    ASSERT_FALSE(set) << text;
    EXPECT_NE(set.error().message.find("'"), std::string::npos);
  }
}

TEST(CoreSet, Contains) {
  const CoreSet all = CoreSet::parse("0-3").value();
  EXPECT_TRUE(all.contains(CoreSet::parse("1+3").value()));
  EXPECT_FALSE(CoreSet::parse("1+3").value().contains(all));
}

TEST(CoreSet, BindsAThreadForAWhile) {
  std::thread([] {
    const CoreSet all = CoreSet::of_this_thread();
    const CoreSet one = CoreSet::parse(all.text().substr(0, all.text().find_first_of("-+"))).value();
    {
      const BoundThread bound(one);
      EXPECT_EQ(CoreSet::of_this_thread(), one);
      const BoundThread inner(all);  // already bound to a part of it: stays
      EXPECT_EQ(CoreSet::of_this_thread(), one);
    }
    EXPECT_EQ(CoreSet::of_this_thread(), all);
    const Status refused = CoreSet::parse("4095").value().bind_this_thread();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("cannot run on the CPUs 4095"), std::string::npos);
  }).join();
}

}  // namespace
}  // namespace intarsia
