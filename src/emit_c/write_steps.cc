#include "emit_c/write_steps.h"

#include <fmt/format.h>

#include "emit_c/c_text.h"
#include "emit_c/place_steps.h"
#include "program/program.h"

namespace intarsia {

std::string CAddress::text() const { return base + (bytes == 0 ? "" : fmt::format(" + {}", bytes)) + more; }

std::string StepsContext::fail_with(const char* status) const {
  return fmt::format("return {}_{};\n", status_prefix, status);
}

StepsWriter::StepsWriter(StepsContext& context, const CSteps& steps, uint64_t begin,
                         const std::vector<CAddress>& inputs, const std::vector<CAddress>& outputs)
    : context_(context), steps_(steps), begin_(begin), outputs_(outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) bases_[function().inputs[i]] = inputs[i];
  for (size_t i = 0; i < outputs.size(); ++i)
    if (function().values[function().outputs[i]]->storage == fbs::Storage::output)
      bases_[function().outputs[i]] = outputs[i];
}

std::string StepsWriter::write() {
  std::string text;
  for (size_t s = 0; s < function().steps.size(); ++s) {
    const fbs::StepT& step = *function().steps[s];
    switch (step.kind) {
      case fbs::StepKind::run:
        text += write_region(step, steps_.workspaces[s]);
        break;
      case fbs::StepKind::copy:
        text +=
            fmt::format("  /* {} */\n", c_comment(function().values[step.inputs[0]]->name)) +
            copy_bytes(address_of_value(step.inputs[0]), address_of_value(step.outputs[0]), step.inputs[0]);
        break;
      case fbs::StepKind::branch:
        text += write_branch(step, steps_.flows[s]);
        break;
      case fbs::StepKind::loop:
        text += write_loop(step, steps_.flows[s]);
        break;
    }
  }
  return text + copy_outputs();
}

int64_t StepsWriter::constant_offset(uint32_t constant) const {
  return static_cast<int64_t>(context_.emitted.program.constants[constant]->offset);
}

CAddress StepsWriter::in_workspace(const CWorkspace& workspace, size_t part) const {
  return in_arena(workspace.begin + (workspace.parts.empty() ? 0 : workspace.parts[part]));
}

CAddress StepsWriter::address_of_value(uint32_t number) const {
  const fbs::ValueT& value = *function().values[number];
  if (const auto base = bases_.find(number); base != bases_.end()) return base->second;
  if (value.storage == fbs::Storage::constant) return {"constants", constant_offset(value.constant)};
  return in_arena(steps_.places.at(number));
}

CAddress StepsWriter::address_of(const fbs::StepT& step, const CWorkspace& workspace,
                                 const CallTensor& tensor) const {
  CAddress address;
  switch (tensor.where) {
    case CallTensor::Where::input:
      address = address_of_value(step.inputs[tensor.index]);
      break;
    case CallTensor::Where::output:
      address = address_of_value(step.outputs[tensor.index]);
      break;
    case CallTensor::Where::constant:
      address = {"constants",
                 constant_offset(context_.emitted.program.regions[step.region]->constants[tensor.index])};
      break;
    case CallTensor::Where::workspace:
      address = in_workspace(workspace, tensor.index);
      break;
  }
  if (tensor.offset.is_number())
    address.bytes += tensor.offset.number();
  else
    address.more += " + " + c_expression(tensor.offset, context_.names);
  return address;
}

std::string StepsWriter::bytes_text(uint32_t value) const {
  return c_expression(bytes_of_value(function(), *function().values[value]), context_.names);
}

/// Copies a value of that many bytes.
std::string StepsWriter::copy_bytes(const CAddress& from, const CAddress& to, uint32_t value) const {
  return fmt::format("  memcpy({}, {}, (size_t){});\n", to.text(), from.text(), bytes_text(value));
}

/// Copies outputs that steps put into the arena, as their sizes are open.
std::string StepsWriter::copy_outputs() const {
  std::string text;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const uint32_t value = function().outputs[i];
    if (!bases_.contains(value)) text += copy_bytes(address_of_value(value), outputs_[i], value);
  }
  return text;
}

}  // namespace intarsia
