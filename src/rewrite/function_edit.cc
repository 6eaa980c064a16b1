#include "rewrite/function_edit.h"

#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"

namespace intarsia {

using namespace tensorflow;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

std::string returned_name(const std::string& program) { return program + "_out"; }

void write_program_argument(pbf_writer& signature, uint32_t tag, const std::string& name) {
  pbf_writer argument(signature, tag);
  argument.add_string(arg_def::name, name);
  argument.add_int32(arg_def::type, data_type_of(DType::string));
}

/// Writes the function's name, arguments and results.
void write_signature(std::string_view old, const FunctionEdit& edit, pbf_writer& out) {
  pbf_writer signature(out, function_def::signature);
  pbf_reader fields = read_message(old);
  size_t argument = 0, result = 0;
  while (fields.next()) {
    const bool is_gone = fields.tag() == op_def::control_output ||
                         (fields.tag() == op_def::input_arg && edit.without.contains(argument++)) ||
                         (fields.tag() == op_def::output_arg && edit.without_results.contains(result++));
    if (is_gone)
      fields.skip();
    else
      copy_field(fields, signature);
  }
  for (const std::string& program : edit.programs)
    write_program_argument(signature, op_def::input_arg, program);
  if (edit.returns_programs)
    for (const std::string& program : edit.programs)
      write_program_argument(signature, op_def::output_arg, returned_name(program));
  for (const auto& [name, node] : edit.control_returns) signature.add_string(op_def::control_output, name);
}

/// Copies an attribute; the shapes of arguments follow the arguments.
void write_attribute(std::string_view entry, const FunctionEdit& edit, pbf_writer& out) {
  const auto [name, value] = read_entry(read_message(entry));
  if (name != "_input_shapes") {
    out.add_message(function_def::attr, entry.data(), entry.size());
    return;
  }
  Attributes attributes;
  attributes.set(name, EncodedAttribute{std::string(value)});
  std::vector<std::optional<SymbolicShape>> shapes;
  size_t number = 0;
  for (std::optional<SymbolicShape>& shape : get_shapes(attributes, name))
    if (!edit.without.contains(number++)) shapes.push_back(std::move(shape));
  shapes.insert(shapes.end(), edit.programs.size(), SymbolicShape());
  write_entry(out, function_def::attr, name, encode_shapes(shapes).bytes);
}

/// Copies what is kept by the number of an argument.
void write_by_argument(uint32_t tag, std::string_view entry, const FunctionEdit& edit, pbf_writer& out) {
  uint32_t number = 0;
  std::string rest;
  pbf_writer others(rest);
  pbf_reader fields = read_message(entry);
  while (fields.next()) {
    if (fields.tag() == map_entry::key)
      number = fields.get_uint32();
    else
      copy_field(fields, others);
  }
  if (edit.without.contains(number)) return;
  const auto gone = std::distance(edit.without.begin(), edit.without.lower_bound(number));
  std::string written;
  pbf_writer(written).add_uint32(map_entry::key, number - static_cast<uint32_t>(gone));
  out.add_message(tag, written + rest);
}

}  // namespace

std::string write_function_edit(const FunctionEdit& edit) {
  std::string bytes;
  pbf_writer out(bytes);
  pbf_reader old = read_message(edit.original.bytes);
  while (old.next()) {
    const uint32_t tag = old.tag();
    if (tag == function_def::signature)
      write_signature(read_bytes(old), edit, out);
    else if (tag == function_def::attr)
      write_attribute(read_bytes(old), edit, out);
    else if (tag == function_def::arg_attr || tag == function_def::resource_arg_unique_id)
      write_by_argument(tag, read_bytes(old), edit, out);
    else if (tag == function_def::node || tag == function_def::ret || tag == function_def::control_ret)
      old.skip();
    else
      copy_field(old, out);
  }
  for (const auto& [name, node] : edit.control_returns)
    write_entry(out, function_def::control_ret, name, node);
  for (const std::string& node : edit.nodes) out.add_message(function_def::node, node);
  for (const auto& [name, from] : edit.returns) write_entry(out, function_def::ret, name, from);
  if (edit.returns_programs)
    for (const std::string& program : edit.programs)
      write_entry(out, function_def::ret, returned_name(program), program);
  return bytes;
}

}  // namespace intarsia
