// Steps of a function in plain C.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "emit_c/kernel_table.h"

namespace intarsia {

/// Place in memory: a variable, a number of bytes beyond it, and expressions of bytes.
struct CAddress {
  std::string base;
  int64_t bytes = 0;
  std::string more = {};

  std::string text() const;
  bool operator==(const CAddress&) const = default;
};

/// What all steps of a function share.
struct StepsContext {
  const EmittedProgram& emitted;
  const KernelTable& kernels;
  std::string status_prefix;                 // of error codes: "NET"
  std::map<std::string, std::string> names;  // variables, by open size
  int loops = 0;                             // number of loops so far, which their variables are numbered by

  /// Returns the statement that ends the function with an error code: "BAD_SIZE".
  std::string fail_with(const char* status) const;
};

/// Parts of the text of a loop, with what its body reads and makes.
struct LoopText {
  int number;  // of the loop, in its variables
  const fbs::FunctionT& body;
  bool has_condition;  // whether something besides the number of iterations may end it
  std::vector<CAddress> inputs = {}, outputs = {};
  std::string before = {}, first = {}, last = {}, after = {};  // first and last: of an iteration
  std::string known_trips = {};  // number of iterations that values scanned have

  std::string iteration() const { return fmt::format("i_{}", number); }
  std::string trips() const { return fmt::format("trips_{}", number); }
  std::string goes_on() const { return fmt::format("goes_on_{}", number); }
  std::string variable(const char* name, size_t carried) const;
  /// Returns the place of an iteration's own part of a value that all iterations share. `part` is the body's.
  CAddress part_of(CAddress all, uint32_t part) const;
};

/// Writer of steps, which are in the arena `memory`.
class StepsWriter {
 public:
  /// `begin` is where the memory of these steps begins in the arena. `inputs` and `outputs` are the addresses
  /// of what they read from outside and leave there.
  StepsWriter(StepsContext& context, const CSteps& steps, uint64_t begin, const std::vector<CAddress>& inputs,
              const std::vector<CAddress>& outputs);

  std::string write();

 private:
  const fbs::FunctionT& function() const { return *steps_.function; }
  int64_t constant_offset(uint32_t constant) const;
  CAddress in_arena(uint64_t offset) const { return {"memory", static_cast<int64_t>(begin_ + offset)}; }
  CAddress in_workspace(const CWorkspace& workspace, size_t part) const;
  CAddress address_of_value(uint32_t number) const;
  CAddress address_of(const fbs::StepT& step, const CWorkspace& workspace, const CallTensor& tensor) const;
  std::vector<std::string> addresses_of(const fbs::StepT& step, const CWorkspace& workspace,
                                        const std::vector<CallTensor>& tensors) const;
  std::string bytes_text(uint32_t value) const;
  std::string copy_bytes(const CAddress& from, const CAddress& to, uint32_t value) const;
  std::string copy_outputs() const;

  std::string write_region(const fbs::StepT& step, const CWorkspace& workspace);
  std::string count_items(const fbs::StepT& step, const CallItems& items) const;
  std::string write_call(const fbs::StepT& step, const RegionCalls& region, const CWorkspace& workspace,
                         const KernelCall& call);
  std::string give_scratch(const CWorkspace& workspace, const CallScratch& scratch) const;
  std::string write_checks(const KernelCall& call, const std::vector<CAddress>& addresses) const;

  std::string write_branch(const fbs::StepT& step, const CFlow& flow);
  std::string write_loop(const fbs::StepT& step, const CFlow& flow);
  void limit_iterations(const fbs::StepT& step, LoopText& loop) const;
  void scan_values(const fbs::StepT& step, LoopText& loop) const;
  void carry_values(const fbs::StepT& step, const CFlow& flow, LoopText& loop) const;
  void collect_values(const fbs::StepT& step, LoopText& loop) const;
  std::string rows_of(uint32_t value) const;
  std::string write_body(const CFlow& flow, size_t body, const std::vector<CAddress>& inputs,
                         const std::vector<CAddress>& outputs);

  StepsContext& context_;
  const CSteps& steps_;
  const uint64_t begin_;
  std::map<uint32_t, CAddress> bases_;  // addresses outside, by value
  const std::vector<CAddress>& outputs_;
};

}  // namespace intarsia
