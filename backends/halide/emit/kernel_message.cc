#include "backends/halide/emit/kernel_message.h"

#include <cstring>

#include "backends/halide/core/size_texts.h"
#include "backends/halide/emit/codegen_generated.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

namespace msg = codegen;

template <typename T>
std::unique_ptr<T> to_unique(T value) {
  return std::make_unique<T>(std::move(value));
}

std::vector<uint32_t> to_numbers(const std::vector<ValueId>& ids) {
  std::vector<uint32_t> numbers;
  for (ValueId id : ids) numbers.push_back(static_cast<uint32_t>(id));
  return numbers;
}

std::vector<ValueId> to_ids(const std::vector<uint32_t>& numbers) {
  std::vector<ValueId> ids;
  for (uint32_t number : numbers) ids.push_back(ValueId(number));
  return ids;
}

msg::AttributeT encode(const Attributes::Entry& entry) {
  msg::AttributeT to;
  to.name = entry.name;
  if (auto* integer = std::get_if<int64_t>(&entry.value)) {
    to.kind = msg::AttributeKind::integer, to.integers = {*integer};
  } else if (auto* real = std::get_if<float>(&entry.value)) {
    to.kind = msg::AttributeKind::real, to.reals = {*real};
  } else if (auto* text = std::get_if<std::string>(&entry.value)) {
    to.kind = msg::AttributeKind::text, to.text = *text;
  } else if (auto* integers = std::get_if<std::vector<int64_t>>(&entry.value)) {
    to.kind = msg::AttributeKind::integers, to.integers = *integers;
  } else if (auto* texts = std::get_if<std::vector<std::string>>(&entry.value)) {
    to.kind = msg::AttributeKind::texts, to.texts = *texts;
  } else {
    auto* reals = std::get_if<std::vector<float>>(&entry.value);
    INTARSIA_CHECK(reals != nullptr);  // canonical operators have no other attributes
    to.kind = msg::AttributeKind::reals, to.reals = *reals;
  }
  return to;
}

AttributeValue decode(const msg::AttributeT& from) {
  switch (from.kind) {
    case msg::AttributeKind::integer:
      return from.integers.at(0);
    case msg::AttributeKind::real:
      return from.reals.at(0);
    case msg::AttributeKind::text:
      return from.text;
    case msg::AttributeKind::integers:
      return from.integers;
    case msg::AttributeKind::reals:
      return from.reals;
    case msg::AttributeKind::texts:
      return from.texts;
  }
  INTARSIA_CHECK(false);
  return {};
}

msg::ValueT encode(const Value& value) {
  msg::ValueT to;
  to.dtype = static_cast<uint8_t>(value.type.dtype);
  to.dims = print_sizes(*value.type.shape);
  if (value.constant) {
    const auto* bytes = static_cast<const uint8_t*>(value.constant->data());
    to.constant.assign(bytes, bytes + value.constant->bytes());
  }
  return to;
}

void decode(const msg::ValueT& from, Graph& body) {
  const DType dtype = static_cast<DType>(from.dtype);
  const std::string name = fmt::format("v{}", body.values.size());
  if (from.constant.empty()) {
    body.add_value(name, {dtype, parse_sizes(from.dims)});
    return;
  }
  Tensor scalar(dtype, fixed_sizes(parse_sizes(from.dims)));
  INTARSIA_CHECK(scalar.bytes() == from.constant.size());
  std::memcpy(scalar.data(), from.constant.data(), from.constant.size());
  body.add_constant(name, std::move(scalar));
}

msg::NodeT encode(const Node& node) {
  msg::NodeT to;
  to.op = node.op;
  to.version = node.version;
  to.inputs = to_numbers(node.inputs);
  to.outputs = to_numbers(node.outputs);
  for (const Attributes::Entry& entry : node.attributes) to.attributes.push_back(to_unique(encode(entry)));
  return to;
}

void decode(const msg::NodeT& from, Graph& body) {
  Node node{fmt::format("n{}", body.nodes.size()),
            from.op,
            "",
            from.version,
            to_ids(from.inputs),
            to_ids(from.outputs),
            {},
            {}};
  for (const auto& attribute : from.attributes) node.attributes.set(attribute->name, decode(*attribute));
  body.add_node(std::move(node));
}

msg::ArgumentT encode(const Argument& argument) {
  msg::ArgumentT to;
  to.dtype = static_cast<uint8_t>(argument.dtype);
  to.shape = print_sizes(argument.shape);
  to.strides = print_sizes(argument.strides);
  return to;
}

Argument decode(const msg::ArgumentT& from) {
  return {static_cast<DType>(from.dtype), parse_sizes(from.shape), parse_sizes(from.strides)};
}

// Bindings below break with a new field: it belongs in the message.

std::unique_ptr<msg::TileT> encode(const ContractionTile& tile) {
  const auto& [lanes, panel, pixels, exact, rows] = tile;
  msg::TileT to;
  to.lanes = lanes, to.panel = panel, to.pixels = pixels, to.exact = exact, to.rows = rows;
  return to_unique(std::move(to));
}

ContractionTile decode(const msg::TileT& from) {
  return {from.lanes, from.panel, from.pixels, from.exact, from.rows};
}

int to_number(const std::optional<size_t>& place) { return place ? static_cast<int>(*place) : -1; }

std::optional<size_t> to_place(int number) {
  return number < 0 ? std::nullopt : std::optional(static_cast<size_t>(number));
}

struct DetailsEncoder {
  msg::KernelT& to;

  void operator()(const std::monostate&) const {}
  void operator()(const ContractionDetails& details) const {
    const auto& [weights, schedule, packing] = details;
    const auto& [algorithm, tile, threads_share_rows, rounds_to, on_amx] = schedule;
    const auto& [panel, panels, dot] = packing;
    msg::ContractionT contraction;
    contraction.weights = to_number(weights);
    contraction.algorithm = static_cast<uint8_t>(algorithm);
    contraction.tile = encode(tile);
    contraction.threads_share_rows = threads_share_rows;
    contraction.rounds_to = static_cast<uint8_t>(rounds_to);
    contraction.on_amx = on_amx;
    contraction.panel = panel, contraction.panels = panels, contraction.dot = dot;
    to.contraction = to_unique(std::move(contraction));
  }
  void operator()(const RecurrenceDetails& details) const {
    const auto& [tile] = details;
    to.recurrence = encode(tile);
  }
  void operator()(const AttentionDetails& details) const {
    const auto& [nodes, schedule] = details;
    const auto& [scores, product, rows, on_amx] = schedule;
    msg::AttentionT attention;
    for (NodeId node : nodes.all()) attention.nodes.push_back(static_cast<uint32_t>(node));
    attention.scores = encode(scores), attention.product = encode(product);
    attention.rows = rows;
    attention.on_amx = on_amx;
    to.attention = to_unique(std::move(attention));
  }
};

KernelDetails decode_details(const msg::KernelT& from) {
  if (from.contraction) {
    const msg::ContractionT& of = *from.contraction;
    const auto algorithm = static_cast<ContractionSchedule::Algorithm>(of.algorithm);
    return ContractionDetails{
        to_place(of.weights),
        {algorithm, decode(*of.tile), of.threads_share_rows, static_cast<DType>(of.rounds_to), of.on_amx},
        {of.panel, of.panels, of.dot}};
  }
  if (from.recurrence) return RecurrenceDetails{decode(*from.recurrence)};
  if (!from.attention) return {};
  const msg::AttentionT& of = *from.attention;
  std::vector<NodeId> nodes;
  for (uint32_t node : of.nodes) nodes.push_back(NodeId(node));
  return AttentionDetails{AttentionNodes::from_all(nodes),
                          {decode(*of.scores), decode(*of.product), of.rows, of.on_amx}};
}

msg::KernelT encode(const Kernel& kernel) {
  const auto& [form, isa, body, anchor, inputs, output, in_place, threads, details, symbols] = kernel;
  msg::KernelT to;
  to.form = static_cast<uint8_t>(form);
  to.level = isa.level;
  to.device = static_cast<uint8_t>(isa.device);
  to.l2_bytes = isa.l2_bytes;
  to.dot_products = static_cast<uint8_t>(isa.dot_products);
  for (const Value& value : body.values) to.values.push_back(to_unique(encode(value)));
  for (const Node& node : body.nodes) to.nodes.push_back(to_unique(encode(node)));
  to.inputs = to_numbers(body.inputs);
  to.output = static_cast<uint32_t>(body.outputs[0]);
  to.anchor = static_cast<uint32_t>(anchor);
  for (const Argument& input : inputs) to.arguments.push_back(to_unique(encode(input)));
  to.arguments.push_back(to_unique(encode(output)));
  to.in_place = to_number(in_place);
  to.threads = threads;
  to.symbols = symbols;
  std::visit(DetailsEncoder{to}, details);
  return to;
}

Result<Kernel> decode(const msg::KernelT& from) {
  Kernel kernel;
  kernel.form = static_cast<Form>(from.form);
  kernel.isa = TRY(make_isa(from.level, static_cast<KernelDevice>(from.device)));
  kernel.isa.l2_bytes = from.l2_bytes;
  kernel.isa.dot_products = static_cast<DotProducts>(from.dot_products);
  for (const auto& value : from.values) decode(*value, kernel.body);
  for (const auto& node : from.nodes) decode(*node, kernel.body);
  check_canonical(kernel.body);
  kernel.body.inputs = to_ids(from.inputs);
  kernel.body.outputs = {ValueId(from.output)};
  kernel.anchor = NodeId(from.anchor);
  for (const auto& argument : from.arguments) kernel.inputs.push_back(decode(*argument));
  kernel.output = std::move(kernel.inputs.back());
  kernel.inputs.pop_back();
  kernel.in_place = to_place(from.in_place);
  kernel.threads = from.threads;
  kernel.symbols = from.symbols;
  kernel.details = decode_details(from);
  return kernel;
}

}  // namespace

std::string encode_request(const CodegenRequest& request) {
  msg::RequestT to;
  to.checks = request.checks;
  to.cpu_seconds = request.cpu_seconds;
  to.kernel = to_unique(encode(request.kernel));
  return pack_table<msg::Request>(to);
}

Result<CodegenRequest> decode_request(const std::string& bytes) {
  msg::RequestT from;
  flatbuffers::GetRoot<msg::Request>(bytes.data())->UnPackTo(&from);
  return CodegenRequest{TRY(decode(*from.kernel)), from.checks, from.cpu_seconds};
}

std::string encode_reply(const CodegenReply& reply) {
  msg::ReplyT to;
  if (!reply) {
    to.error = reply.error().message;
  } else {
    const EmittedKernel& kernel = *reply;
    to.object.assign(kernel.object_file.begin(), kernel.object_file.end());
    to.output = to_unique(encode(kernel.output));
    to.scratch_bytes = kernel.scratch_bytes;
    to.symbol = kernel.symbol;
    to.in_place = kernel.in_place;
    to.stack_bytes = kernel.stack_bytes;
    if (kernel.scratch_bound.is_known()) to.scratch_bound = print_sizes({kernel.scratch_bound})[0];
  }
  return pack_table<msg::Reply>(to);
}

CodegenReply decode_reply(const std::string& bytes) {
  const msg::Reply* table = find_table<msg::Reply>(as_bytes(bytes));
  if (table == nullptr) return fail("the reply is damaged");
  msg::ReplyT from;
  table->UnPackTo(&from);
  if (!from.error.empty()) return fail("{}", from.error);
  if (from.output == nullptr) return fail("the reply has no output");
  const Dim bound = from.scratch_bound.empty() ? Dim::unknown() : parse_sizes({from.scratch_bound})[0];
  return EmittedKernel{from.symbol,
                       std::string(from.object.begin(), from.object.end()),
                       decode(*from.output),
                       from.scratch_bytes,
                       from.in_place,
                       from.stack_bytes,
                       bound};
}

}  // namespace intarsia::halide
