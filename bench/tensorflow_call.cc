// Cost of a region in TensorFlow above the session's own call: one small addition, inputs in place, the
// output adopted.
//
// Prints one JSON object; times are nanoseconds per call, the median of rounds taken in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "backends/tensorflow/load.h"
#include "backends/tensorflow/region_session.h"
#include "backends/tensorflow/target.h"
#include "backends/tensorflow/write_graph_def.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"

namespace {

using namespace intarsia;

constexpr int rounds = 21, calls = 10000;

template <typename Call>
double nanoseconds(Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

Graph make_graph() {
  Graph graph{.name = "add"};
  const ValueType type{DType::f32, to_symbolic({16}), false, {}};
  const ValueId a = graph.add_value("a", type), b = graph.add_value("b", type),
                c = graph.add_value("c", type);
  Attributes attributes;
  attributes.set("T", tensorflow::encode_type(tensorflow::data_type_of(DType::f32)));
  graph.add_node({"add", "AddV2", "tensorflow", 1, {a, b}, {c}, {}, attributes});
  graph.inputs = {a, b};
  graph.outputs = {c};
  return graph;
}

/// TF_SessionRun as called by a user who already has the tensors and the status; the result is released.
class BareCall {
 public:
  BareCall(const tf::Library& library, const tf::RegionSession& region, tf::TF_Tensor* a, tf::TF_Tensor* b)
      : library_(library), region_(region), fed_{a, b}, status_(library) {}

  bool operator()() {
    tf::TF_Tensor* made[] = {nullptr};
    library_.api().run(*region_.session, nullptr, region_.inputs.data(), fed_, 2, region_.outputs.data(),
                       made, 1, nullptr, 0, nullptr, status_);
    if (made[0] == nullptr) return false;
    library_.api().delete_tensor(made[0]);
    return true;
  }

 private:
  const tf::Library& library_;
  const tf::RegionSession& region_;
  tf::TF_Tensor* fed_[2];
  tf::CallStatus status_;
};

Status measure() {
  const Graph graph = make_graph();
  const tf::WrittenGraph written = TRY(tf::write_graph_def(graph));
  const CompiledRegion compiled = TRY(TRY(make_tensorflow_target({}))->compile(graph, {}, {}));
  const auto region = TRY(tensorflow_run_backend().load({std::as_bytes(std::span(compiled.blob))}));
  const tf::Library& library = *TRY(tf::Library::get());
  const tf::RegionSession session = TRY(tf::open_region(library, tf::as_region(written), 1));

  const Tensor a(DType::f32, {16}), b(DType::f32, {16});
  const tf::OwnedTensor wrapped_a = TRY(tf::wrap_tensor(library, a.view())),
                        wrapped_b = TRY(tf::wrap_tensor(library, b.view()));
  BareCall bare_call(library, session, wrapped_a.get(), wrapped_b.get());
  const Input inputs[] = {{a.view(), nullptr}, {b.view(), nullptr}};
  Output outputs[] = {{{}, nullptr, true}};
  const RunContext context{inputs, outputs, nullptr, nullptr};

  bool ok = true;
  std::vector<double> bare, whole;
  for (int round = 0; round < rounds; ++round) {
    bare.push_back(nanoseconds([&] { ok &= bare_call(); }));
    whole.push_back(nanoseconds([&] { ok &= region->run(context).has_value(); }));
  }
  if (!ok) return fail("a run failed");
  fmt::print(
      "{{\"tensorflow\": \"{}\", \"bare_run_ns\": {:.0f}, \"region_run_ns\": {:.0f}, \"overhead_ns\": "
      "{:.0f}}}\n",
      library.version(), median(bare), median(whole), median(whole) - median(bare));
  return {};
}

}  // namespace

int main() {
  const Status status = measure();
  if (!status) std::fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
