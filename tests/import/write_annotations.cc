// Annotations of where nodes run, written into a model's bytes: everything else stays.
//
// Covers: src/import/ write_annotations.cc
#include "import/write_annotations.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "import/read_annotations.h"
#include "tests/support/onnx_writer.h"

namespace intarsia {
namespace {

using onnx::Message;

constexpr uint32_t unknown_field = 900;

std::string metadata(const std::string& key, const std::string& value) {
  return Message().text(onnx::string_entry::key, key).text(onnx::string_entry::value, value).bytes;
}

/// Makes x -> a -> b, the first node with metadata; unknown fields at every level, one after the graph.
std::string make_model(const onnx::Messages& first_metadata) {
  const std::string first = Message()
                                .text(onnx::node::output, "a")
                                .messages(onnx::node::metadata_props, first_metadata)
                                .text(unknown_field, "in a node")
                                .bytes;
  const std::string second = onnx::node_message("Exp", {"a"}, {"b"}, {}, "", "second");
  const std::string graph = Message()
                                .text(unknown_field, "in the graph")
                                .messages(onnx::graph::node, {first, second})
                                .text(onnx::graph::name, "g")
                                .bytes;
  return Message()
      .number(unknown_field, 1)
      .message(onnx::model::graph, graph)
      .text(unknown_field, "end")
      .bytes;
}

std::string write(const std::string& model, const std::vector<std::string>& places) {
  const Result<BytePieces> pieces = write_annotations(model, places);
  EXPECT_TRUE(pieces) << pieces.error().message;
  std::string bytes;
  for (std::string_view piece : pieces->pieces()) bytes += piece;
  EXPECT_EQ(bytes.size(), pieces->size());
  return bytes;
}

TEST(WriteAnnotations, AreWhatIsRead) {
  const std::string annotated = write(make_model({}), {"halide@cpu", "@accel"});
  const Result<Annotations> read = parse_annotations(annotated);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->by_output, (std::map<std::string, std::string>{{"a", "halide@cpu"}, {"b", "@accel"}}));
  EXPECT_EQ(read->by_name, (std::map<std::string, std::string>{{"a", "halide@cpu"}, {"second", "@accel"}}));
}

TEST(WriteAnnotations, AllElseStays) {
  const std::string plain = make_model({}), other = metadata("author", "somebody");
  EXPECT_EQ(write(plain, {"", ""}), plain);
  EXPECT_EQ(write(write(plain, {"halide@cpu", "@accel"}), {"", ""}), plain);
  const std::string old = metadata("layer_ann", "old"), place = metadata("layer_ann", "halide@cpu");
  EXPECT_EQ(write(make_model({old, other, old}), {"", ""}), make_model({other}));
  EXPECT_EQ(parse_annotations(write(make_model({old, other}), {"halide@cpu", ""}))->by_name,
            (std::map<std::string, std::string>{{"a", "halide@cpu"}}));
}

TEST(WriteAnnotations, NumbersKeepTheirForm) {
  const std::string long_number("\x08\x89\x80\x00", 4);  // 9 in three bytes
  EXPECT_EQ(write(long_number + make_model({}), {"", ""}), long_number + make_model({}));
}

TEST(WriteAnnotations, DamageIsAnError) {
  const std::string model = make_model({metadata("layer_ann", "old")});
  size_t errors = 0;
  for (size_t size = 0; size < model.size(); ++size)
    errors += !write_annotations(model.substr(0, size), {"halide@cpu", ""}).has_value();
  EXPECT_GT(errors, model.size() / 2);
}

TEST(WriteAnnotations, ExternalFilesAreFoundAnywhere) {
  const auto tensor = [](const std::string& file) {
    return Message().message(onnx::tensor::external_data, metadata("location", file)).bytes;
  };
  const std::string inner = onnx::graph_message({.initializers = {tensor("inner")}});
  const std::string node = onnx::node_message(
      "If", {}, {"y"},
      {onnx::attribute_graph("then_branch", inner), onnx::attribute_tensor("t", tensor("t"))});
  const std::string graph = onnx::graph_message({.nodes = {node}, .initializers = {tensor("outer")}});
  const std::string function = Message().message(onnx::function::node, node).bytes;
  const std::string model =
      Message().message(onnx::model::graph, graph).message(onnx::model::functions, function).bytes;
  EXPECT_EQ(*find_external_files(model), (std::vector<std::string>{"inner", "outer", "t"}));
}

TEST(WriteAnnotations, MoreThanTwoGigabytesAreAnError) {
  const uint64_t bytes = uint64_t{1} << 31;
  std::string head;
  protozero::pbf_writer(head).add_bytes(unknown_field, "x");
  head.resize(2);  // the tag; a length follows
  for (uint64_t rest = bytes; rest > 0; rest >>= 7)
    head += static_cast<char>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
  const size_t size = head.size() + bytes;
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::ranges::copy(head, static_cast<char*>(memory));
  const Result<BytePieces> written = write_annotations({static_cast<const char*>(memory), size}, {});
  munmap(memory, size);
  ASSERT_FALSE(written);
  EXPECT_TRUE(written.error().message.contains("more than an ONNX file can have (2 GB)"))
      << written.error().message;
}

}  // namespace
}  // namespace intarsia
