// Descriptions whose tables share a part unpack into far more than they have bytes: that is damage.
//
// Covers: src/program/ verify_unshared.cc
#include <gtest/gtest.h>

#include <functional>

#include "program/verify_program.h"

namespace intarsia::test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr size_t tables = 1000, part_bytes = 10'000;

template <typename T>
auto repeat(FlatBufferBuilder& builder, const std::function<Offset<T>()>& make) {
  std::vector<Offset<T>> list;
  for (size_t i = 0; i < tables; ++i) list.push_back(make());
  return builder.CreateVector(list);
}

std::string finish_and_verify(FlatBufferBuilder& builder, Offset<fbs::Program> program) {
  builder.Finish(program);
  const Status verified =
      verify_unshared(*flatbuffers::GetRoot<fbs::Program>(builder.GetBufferPointer()), builder.GetSize());
  return verified ? "none" : verified.error().message;
}

std::string verify_values(bool are_shared) {
  FlatBufferBuilder builder;
  const std::vector<uint8_t> axes(part_bytes);
  const auto one = builder.CreateVector(axes);
  const auto values = repeat<fbs::Value>(builder, [&] {
    const auto own = are_shared ? one : builder.CreateVector(axes);
    fbs::ValueBuilder value(builder);
    value.add_axes(own);
    return value.Finish();
  });
  fbs::FunctionBuilder function(builder);
  function.add_values(values);
  const auto made = function.Finish();
  const auto functions = builder.CreateVector(&made, 1);
  fbs::ProgramBuilder program(builder);
  program.add_functions(functions);
  return finish_and_verify(builder, program.Finish());
}

std::string verify_growths(bool are_shared) {
  FlatBufferBuilder builder;
  const std::string why(part_bytes, 'w');
  const auto one = builder.CreateString(why);
  const auto growths = repeat<fbs::Growth>(builder, [&] {
    const auto own = are_shared ? one : builder.CreateString(why);
    fbs::GrowthBuilder growth(builder);
    growth.add_why(own);
    return growth.Finish();
  });
  fbs::RegionBuilder region(builder);
  region.add_growths(growths);
  const auto made = region.Finish();
  const auto regions = builder.CreateVector(&made, 1);
  fbs::ProgramBuilder program(builder);
  program.add_regions(regions);
  return finish_and_verify(builder, program.Finish());
}

std::string verify_plugins(bool are_shared) {
  FlatBufferBuilder builder;
  const std::string version(part_bytes, '1');
  const auto one = builder.CreateString(version);
  const auto plugins = repeat<fbs::Plugin>(builder, [&] {
    const auto own = are_shared ? one : builder.CreateString(version);
    fbs::PluginBuilder plugin(builder);
    plugin.add_version(own);
    return plugin.Finish();
  });
  fbs::ProgramBuilder program(builder);
  program.add_plugins(plugins);
  return finish_and_verify(builder, program.Finish());
}

std::string verify_notes(bool are_shared) {
  FlatBufferBuilder builder;
  const std::string note(part_bytes, 'n');
  const auto one = builder.CreateString(note);
  const auto notes =
      repeat<flatbuffers::String>(builder, [&] { return are_shared ? one : builder.CreateString(note); });
  fbs::FunctionBuilder function(builder);
  function.add_notes(notes);
  const auto made = function.Finish();
  const auto functions = builder.CreateVector(&made, 1);
  fbs::ProgramBuilder program(builder);
  program.add_functions(functions);
  return finish_and_verify(builder, program.Finish());
}

TEST(VerifyUnshared, SharedPartsAreDamage) {
  const std::string damage = "damaged: its description refers to the same parts again and again";
  EXPECT_EQ(verify_values(true), damage);
  EXPECT_EQ(verify_growths(true), damage);
  EXPECT_EQ(verify_plugins(true), damage);
  EXPECT_EQ(verify_notes(true), damage);
}

TEST(VerifyUnshared, PartsOfTheirOwnAreNot) {
  EXPECT_EQ(verify_values(false), "none");
  EXPECT_EQ(verify_growths(false), "none");
  EXPECT_EQ(verify_plugins(false), "none");
  EXPECT_EQ(verify_notes(false), "none");
}

}  // namespace
}  // namespace intarsia::test
