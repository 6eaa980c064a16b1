#include <fmt/format.h>

#include <sstream>

#include "emit_c/c_text.h"
#include "emit_c/place_steps.h"
#include "emit_c/write_steps.h"

namespace intarsia {
namespace {

/// Moves lines to the right, as those of a block.
std::string indent(const std::string& text) {
  std::istringstream lines(text);
  std::string made, line;
  while (std::getline(lines, line)) made += line.empty() ? "\n" : "  " + line + "\n";
  return made;
}

/// Returns the place of an iteration's own part of a value that all iterations share.
CAddress moved(CAddress address, const std::string& iteration, const fbs::FunctionT& body, uint32_t part) {
  address.more += fmt::format(" + {} * {}", iteration, bytes_of_value(body, *body.values[part]).number());
  return address;
}

/// Variables of a loop, and what its values are in.
struct LoopText {
  int number;

  std::string iteration() const { return fmt::format("i_{}", number); }
  std::string trips() const { return fmt::format("trips_{}", number); }
  std::string goes_on() const { return fmt::format("goes_on_{}", number); }
  std::string from(size_t carried) const { return fmt::format("from_{}_{}", number, carried); }
  std::string to(size_t carried) const { return fmt::format("to_{}_{}", number, carried); }
};

}  // namespace

std::string StepsWriter::write_body(const CFlow& flow, size_t body, const std::vector<CAddress>& inputs,
                                    const std::vector<CAddress>& outputs) {
  const uint64_t begin = begin_ + flow.begin + flow.body_offset;
  return indent(StepsWriter(context_, flow.bodies[body], begin, inputs, outputs).write());
}

std::string StepsWriter::write_branch(const fbs::StepT& step, const CFlow& flow) {
  std::vector<CAddress> inputs, outputs;
  for (uint32_t output : step.outputs) outputs.push_back(address_of_value(output));
  for (size_t i = 1; i < step.inputs.size(); ++i) inputs.push_back(address_of_value(step.inputs[i]));
  const auto second = inputs.begin() + static_cast<std::ptrdiff_t>(step.bodies[0]->inputs.size());
  return fmt::format("  /* {} */\n  if (*({}) != 0) {{\n{}  }} else {{\n{}  }}\n",
                     c_comment(function().values[step.inputs[0]]->name),
                     address_of_value(step.inputs[0]).text(),
                     write_body(flow, 0, {inputs.begin(), second}, outputs),
                     write_body(flow, 1, {second, inputs.end()}, outputs));
}

std::string StepsWriter::write_loop(const fbs::StepT& step, const CFlow& flow) {
  const LoopText loop{++context_.loops};
  const fbs::FunctionT& body = *step.bodies[0];
  const size_t limits = size_t{step.has_trip_count} + size_t{step.has_condition};
  const auto outer = [&](size_t number) { return step.inputs[limits + number]; };
  const bool has_condition = step.has_condition || step.checks_condition;
  std::vector<CAddress> inputs{{"(const uint8_t*)&" + loop.iteration()}}, outputs;
  if (step.checks_condition) outputs.push_back({"&" + loop.goes_on()});

  std::string before = fmt::format("  int64_t {} = 0, {} = INT64_MAX;\n", loop.iteration(), loop.trips());
  if (step.has_trip_count)
    before += fmt::format("  memcpy(&{0}, {1}, sizeof {0});\n", loop.trips(),
                          address_of_value(step.inputs[0]).text());
  if (has_condition)
    before += fmt::format("  uint8_t {} = {};\n", loop.goes_on(),
                          step.has_condition ? "*(" + address_of_value(step.inputs[limits - 1]).text() + ")"
                                             : std::string("1"));
  std::string first, last, after;  // what an iteration begins and ends with, and what comes after all

  for (size_t k = 0; k < step.carried; ++k) {
    const CAddress out = address_of_value(step.outputs[k]);
    const std::string second = in_arena(flow.begin + flow.seconds[k]).text();
    before += fmt::format("  const uint8_t* {} = {};\n", loop.from(k), address_of_value(outer(k)).text());
    // The last iteration writes to the output if nothing but the number of iterations ends the loop.
    before += fmt::format("  uint8_t* {} = {};\n", loop.to(k),
                          step.checks_condition
                              ? out.text()
                              : fmt::format("{} % 2 != 0 ? {} : {}", loop.trips(), out.text(), second));
    last += fmt::format("    {0} = {1};\n    {1} = {1} == {2} ? {3} : {2};\n", loop.from(k), loop.to(k),
                        out.text(), second);
    after += fmt::format("  if ({} != {})\n  {}", loop.from(k), out.text(),
                         copy_bytes({loop.from(k)}, out, step.outputs[k]));
    inputs.push_back({loop.from(k)});
    outputs.push_back({loop.to(k)});
  }
  for (size_t k = step.carried; limits + k < step.inputs.size(); ++k) {
    const CAddress address = address_of_value(outer(k));
    if (k >= size_t{step.carried} + step.scanned) {
      inputs.push_back(address);
      continue;
    }
    const SymbolicShape sizes = sizes_of_value(function(), *function().values[outer(k)]);
    const std::string rows = c_expression(sizes[0], context_.names);
    before += k > step.carried
                  ? fmt::format("  if ({} != {}) ", loop.trips(), rows) + context_.fail_with("BAD_SIZE")
                  : fmt::format("  {} = {};\n", loop.trips(), rows);
    inputs.push_back(moved(address, loop.iteration(), body, body.inputs[1 + k]));
  }
  for (size_t k = step.carried; k < step.outputs.size(); ++k) {
    const uint32_t value = step.outputs[k];
    const std::string rows =
        c_expression(sizes_of_value(function(), *function().values[value])[0], context_.names);
    first += fmt::format("    if ({} >= {}) ", loop.iteration(), rows) + context_.fail_with("BAD_SIZE");
    after += fmt::format("  if ({} != {}) ", loop.iteration(), rows) + context_.fail_with("BAD_SIZE");
    outputs.push_back(moved(address_of_value(value), loop.iteration(), body,
                            body.outputs[size_t{step.checks_condition} + k]));
  }
  return fmt::format("  /* loop that makes {} */\n  {{\n",
                     c_comment(function().values[step.outputs[0]]->name)) +
         indent(before +
                fmt::format("  for (; {0} < {1}{2}; ++{0}) {{\n", loop.iteration(), loop.trips(),
                            has_condition ? " && " + loop.goes_on() + " != 0" : "") +
                first + write_body(flow, 0, inputs, outputs) + last + "  }\n" + after) +
         "  }\n";
}

}  // namespace intarsia
