// Allocations of a run, backend by backend: they follow the contract of an executable.
//
// Covers: backends/halide/runtime/ region_executable.cc kernel_runtime.cc
// backends/reference/ plan_executable.cc kernel_call.cc
#include <gtest/gtest.h>
#include <malloc.h>

#include "backends/reference/load.h"
#include "backends/reference/target.h"
#include "tests/support/count_allocations.h"
#include "tests/support/halide_support.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Graph whose kernels need memory of their own while they run: the convolution pads a copy of its input.
constexpr std::string_view text = R"(graph "region" opsets {"": 21}
input %x : f32[1,8,14,14]
input %w_small : f32[16,8,3,3]
%c = Conv(%x, %w_small) {pads=[1,1,1,1]}
%r = Relu(%c)
%s = Softmax(%r)
output %s)";

/// Run of the graph, on existing memory.
class Call {
 public:
  explicit Call(size_t workspace_bytes) : workspace_(allocate_aligned(workspace_bytes)) {}

  RunContext context(ThreadTeam* threads = nullptr) {
    return {inputs_, outputs_, static_cast<std::byte*>(workspace_.get()), threads};
  }

 private:
  const Tensor x_ = random_tensor(DType::f32, {1, 8, 14, 14}, 1), y_{DType::f32, {1, 16, 14, 14}};
  Input inputs_[1] = {{x_.view(), nullptr}};
  Output outputs_[1] = {{y_.view(), nullptr, false}};
  std::shared_ptr<void> workspace_;
};

TEST(Allocations, NoneInARunOfHalide) {
  const auto graph = make_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  for (const int count : {1, 2}) {
    CompileOptions options;
    options.threads = count;
    const auto region = LoadedRegion::make(*graph, options, {});
    ASSERT_TRUE(region) << region.error().message;
    TestTeam threads(count);
    Call call((*region)->workspace_bytes());
    const uint64_t before = allocation_count();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE((*region)->run_in(call.context(&threads)));
    EXPECT_EQ(allocation_count(), before) << count << " threads";
  }
}

TEST(Allocations, OfTheReferenceAreGivenBack) {
  const auto graph = make_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  const CompiledRegion region = make_reference_target()->compile(*graph, {}, {}).value();
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : region.constants) constants.push_back(constant.view());
  LoadContext load;
  load.blob = std::as_bytes(std::span(region.blob));
  load.constants = constants;
  load.workspace_bytes = region.workspace_bytes;
  const auto executable = reference_run_backend().load(load);
  ASSERT_TRUE(executable) << executable.error().message;
  Call call(region.workspace_bytes);
  const auto run_some = [&] {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE((*executable)->run(call.context()));
  };
  run_some();  // fills what the allocator keeps for itself
  const uint64_t before = allocation_count();
  const size_t in_use = mallinfo2().uordblks;
  run_some();
  EXPECT_GT(allocation_count(), before);
  EXPECT_EQ(mallinfo2().uordblks, in_use);
}

}  // namespace
}  // namespace intarsia::test
