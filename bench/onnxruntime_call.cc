// Cost of a region in ONNX Runtime above the session's own run: one small Add, fixed shapes, buffers in
// place. Prints one JSON object; times are nanoseconds per call, the median of rounds taken in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "backends/onnxruntime/load.h"
#include "backends/onnxruntime/session.h"
#include "backends/onnxruntime/target.h"
#include "onnx/write_onnx_model.h"

namespace {

using namespace intarsia;

constexpr int rounds = 21, calls = 20000;

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
  Graph graph{.name = "add", .opsets = {{"", 21}}};
  const ValueType type{DType::f32, to_symbolic({16}), false, {}};
  const ValueId a = graph.add_value("a", type), b = graph.add_value("b", type),
                c = graph.add_value("c", type);
  graph.add_node({"add", "Add", "", 21, {a, b}, {c}, {}, {}});
  graph.inputs = {a, b};
  graph.outputs = {c};
  return graph;
}

Status measure() {
  const Graph graph = make_graph();
  const OnnxModel model = TRY(write_onnx_model(graph));
  const CompiledRegion compiled = TRY(make_onnxruntime_target()->compile(graph, {}, {}));
  const auto region = TRY(onnxruntime_run_backend().load({std::as_bytes(std::span(compiled.blob))}));
  const auto session = TRY(ort::ModelSession::from_bytes(model.bytes, {}));

  const Tensor a(DType::f32, {16}), b(DType::f32, {16}), c(DType::f32, {16});
  const auto va = TRY(ort::wrap_tensor(session->library(), a.view()));
  const auto vb = TRY(ort::wrap_tensor(session->library(), b.view()));
  const auto vc = TRY(ort::wrap_tensor(session->library(), c.view()));
  const ort::Value* in[] = {va.get(), vb.get()};
  ort::Value* out[] = {vc.get()};
  const Input inputs[] = {{a.view(), nullptr}, {b.view(), nullptr}};
  Output outputs[] = {{c.view(), nullptr, false}};
  const RunContext context{inputs, outputs, nullptr, nullptr};

  bool ok = true;
  std::vector<double> bare, whole;
  for (int round = 0; round < rounds; ++round) {
    bare.push_back(nanoseconds([&] { ok &= session->run(in, out).has_value(); }));
    whole.push_back(nanoseconds([&] { ok &= region->run(context).has_value(); }));
  }
  if (!ok) return fail("a run failed");
  fmt::print(
      "{{\"onnxruntime\": \"{}\", \"bare_run_ns\": {:.0f}, \"region_run_ns\": {:.0f}, \"overhead_ns\": "
      "{:.0f}}}\n",
      session->library().version(), median(bare), median(whole), median(whole) - median(bare));
  return {};
}

}  // namespace

int main() {
  const Status status = measure();
  if (!status) std::fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
