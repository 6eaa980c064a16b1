#include <fmt/format.h>

#include <sstream>

#include "emit_c/c_text.h"
#include "emit_c/place_steps.h"
#include "emit_c/write_steps.h"
#include "program/open_sizes.h"

namespace intarsia {
namespace {

/// Moves lines to the right, as those of a block.
std::string indent(const std::string& text) {
  std::istringstream lines(text);
  std::string made, line;
  while (std::getline(lines, line)) made += line.empty() ? "\n" : "  " + line + "\n";
  return made;
}

}  // namespace

std::string LoopText::variable(const char* name, size_t carried) const {
  return fmt::format("{}_{}_{}", name, number, carried);
}

CAddress LoopText::part_of(CAddress all, uint32_t part) const {
  all.more += fmt::format(" + {} * {}", iteration(), bytes_of_value(body, *body.values[part]).number());
  return all;
}

std::string StepsWriter::rows_of(uint32_t value) const {
  return c_expression(sizes_of_value(function(), *function().values[value])[0], context_.names);
}

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

void StepsWriter::limit_iterations(const fbs::StepT& step, LoopText& loop) const {
  if (step.has_trip_count)
    loop.before += fmt::format("  memcpy(&{0}, {1}, sizeof {0});\n", loop.trips(),
                               address_of_value(step.inputs[0]).text());
  if (loop.has_condition)
    loop.before += fmt::format("  uint8_t {} = {};\n", loop.goes_on(),
                               step.has_condition
                                   ? "*(" + address_of_value(step.inputs[step.has_trip_count]).text() + ")"
                                   : std::string("1"));
  if (step.checks_condition) loop.outputs.push_back({"&" + loop.goes_on()});
}

/// Gives iterations, each in its turn, the parts of what the loop scans, all of which have as many.
void StepsWriter::scan_values(const fbs::StepT& step, LoopText& loop) const {
  for (size_t k = step.carried; k < size_t{step.carried} + step.scanned; ++k) {
    const uint32_t value = value_of_loop(step, k);
    const std::string rows = rows_of(value);
    loop.before += loop.known_trips.empty()
                       ? fmt::format("  {} = {};\n", loop.trips(), rows)
                       : fmt::format("  if ({} != {}) ", loop.trips(), rows) + context_.fail_with("BAD_SIZE");
    loop.known_trips = rows;
    loop.inputs.push_back(loop.part_of(address_of_value(value), step.bodies[0]->inputs[1 + k]));
  }
}

/// Lets iterations hand on values, whose memory is the output's and a second piece in turns.
void StepsWriter::carry_values(const fbs::StepT& step, const CFlow& flow, LoopText& loop) const {
  for (size_t k = 0; k < step.carried; ++k) {
    const CAddress out = address_of_value(step.outputs[k]);
    const std::string second = in_arena(flow.begin + flow.seconds[k]).text();
    const std::string from = loop.variable("from", k), to = loop.variable("to", k);
    // The last iteration writes to the output if nothing but the number of iterations ends the loop.
    const std::string begin = step.checks_condition
                                  ? out.text()
                                  : fmt::format("{} % 2 != 0 ? {} : {}", loop.trips(), out.text(), second);
    loop.before += fmt::format("  const uint8_t* {} = {};\n  uint8_t* {} = {};\n", from,
                               address_of_value(value_of_loop(step, k)).text(), to, begin);
    loop.last +=
        fmt::format("    {0} = {1};\n    {1} = {1} == {2} ? {3} : {2};\n", from, to, out.text(), second);
    loop.after +=
        fmt::format("  if ({} != {})\n  {}", from, out.text(), copy_bytes({from}, out, step.outputs[k]));
    loop.inputs.insert(loop.inputs.begin() + static_cast<std::ptrdiff_t>(1 + k), {from});
    loop.outputs.push_back({to});
  }
}

/// Lets iterations leave their parts of tensors of all results.
void StepsWriter::collect_values(const fbs::StepT& step, LoopText& loop) const {
  for (size_t k = step.carried; k < step.outputs.size(); ++k) {
    const std::string rows = rows_of(step.outputs[k]);
    if (rows != loop.known_trips) {
      loop.first +=
          fmt::format("    if ({} >= {}) ", loop.iteration(), rows) + context_.fail_with("BAD_SIZE");
      loop.after += fmt::format("  if ({} != {}) ", loop.iteration(), rows) + context_.fail_with("BAD_SIZE");
    }
    loop.outputs.push_back(loop.part_of(address_of_value(step.outputs[k]),
                                        step.bodies[0]->outputs[size_t{step.checks_condition} + k]));
  }
}

std::string StepsWriter::write_loop(const fbs::StepT& step, const CFlow& flow) {
  LoopText loop{++context_.loops, *step.bodies[0], step.has_condition || step.checks_condition};
  loop.inputs.push_back({"(const uint8_t*)&" + loop.iteration()});
  limit_iterations(step, loop);
  scan_values(step, loop);
  carry_values(step, flow, loop);
  for (size_t k = size_t{step.carried} + step.scanned; loop.inputs.size() < loop.body.inputs.size(); ++k)
    loop.inputs.push_back(address_of_value(value_of_loop(step, k)));
  collect_values(step, loop);
  const std::string limit = fmt::format("{} < {}{}", loop.iteration(), loop.trips(),
                                        loop.has_condition ? " && " + loop.goes_on() + " != 0" : "");
  return fmt::format("  /* loop that makes {} */\n  {{\n",
                     c_comment(function().values[step.outputs[0]]->name)) +
         indent(fmt::format("  int64_t {} = 0, {} = INT64_MAX;\n", loop.iteration(), loop.trips()) +
                loop.before + fmt::format("  for (; {}; ++{}) {{\n", limit, loop.iteration()) + loop.first +
                write_body(flow, 0, loop.inputs, loop.outputs) + loop.last + "  }\n" + loop.after) +
         "  }\n";
}

}  // namespace intarsia
