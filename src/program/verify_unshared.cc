#include "base/bytes.h"
#include "program/verify_program.h"

namespace intarsia {
namespace {

/// Budget of bytes that adds up sizes until they exceed it, and checks each part's address.
class Budget {
 public:
  explicit Budget(size_t bytes) : left_(bytes) {}
  bool spent() const { return spent_; }
  bool aligned() const { return aligned_; }

  void text(const flatbuffers::String* text) { take(text ? text->size() : 0, 1); }

  template <typename T>
  void numbers(const flatbuffers::Vector<T>* numbers) {
    take(numbers ? numbers->size() : 0, sizeof(T));
    aligned_ = aligned_ && (numbers == nullptr || is_aligned(numbers->Data(), sizeof(T)));
  }

  void texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
    each(texts, [this](const flatbuffers::String& one) { text(&one); });
  }

  template <typename T, typename Visit>
  void each(const flatbuffers::Vector<flatbuffers::Offset<T>>* items, Visit visit) {
    constexpr size_t least = 8;  // offset and what it points to
    take(items ? items->size() : 0, least);
    for (flatbuffers::uoffset_t i = 0; items != nullptr && i < items->size() && !spent_; ++i)
      visit(*items->Get(i));
  }

 private:
  void take(size_t count, size_t size) {
    spent_ = spent_ || count > left_ / size;
    if (!spent_) left_ -= count * size;
  }

  size_t left_;
  bool spent_ = false;
  bool aligned_ = true;  // the FlatBuffers verifier checks the alignment of vectors' lengths only
};

void visit_function(Budget& budget, const fbs::Function& function) {
  budget.text(function.name());
  budget.each(function.values(), [&](const fbs::Value& value) {
    budget.text(value.name());
    budget.numbers(value.dims());
    budget.numbers(value.encoded_type());
    budget.numbers(value.axes());
    budget.numbers(value.sizes());
    budget.numbers(value.tuned_dims());
  });
  budget.each(function.symbols(), [&](const fbs::Symbol& symbol) {
    budget.text(symbol.name());
    budget.numbers(symbol.tuned());
  });
  budget.each(function.sizes(), [&](const fbs::Size& size) {
    budget.numbers(size.ops());
    budget.numbers(size.operands());
    budget.text(size.text());
  });
  budget.numbers(function.inputs());
  budget.numbers(function.outputs());
  budget.each(function.steps(), [&](const fbs::Step& step) {
    budget.numbers(step.inputs());
    budget.numbers(step.outputs());
    budget.numbers(step.after());
    budget.each(step.bodies(), [&](const fbs::Function& body) { visit_function(budget, body); });
  });
  budget.numbers(function.arena_bytes());
  budget.texts(function.notes());
  budget.each(function.alternatives(), [&](const fbs::Function& one) { visit_function(budget, one); });
  budget.each(function.specializations(), [&](const fbs::Function& one) { visit_function(budget, one); });
  budget.each(function.ranges(), [](const fbs::SymbolRange&) {});
  budget.each(function.stages(), [&](const fbs::Stage& stage) {
    if (stage.function() != nullptr) visit_function(budget, *stage.function());
    budget.texts(stage.executors());
  });
}

void visit_program(Budget& budget, const fbs::Program& program) {
  for (const flatbuffers::String* text :
       {program.producer(), program.arch(), program.cpu(), program.model_path(), program.precision()}) {
    budget.text(text);
  }
  for (const auto* texts :
       {program.cpu_features(), program.shapes(), program.requirements(), program.needs()})
    budget.texts(texts);
  budget.each(program.spaces(), [&](const fbs::Space& space) {
    for (const flatbuffers::String* text : {space.name(), space.kind()}) budget.text(text);
  });
  budget.each(program.slots(), [&](const fbs::Slot& slot) {
    for (const flatbuffers::String* text : {slot.name(), slot.kind(), slot.device()}) budget.text(text);
  });
  budget.each(program.constants(), [&](const fbs::Constant& constant) { budget.numbers(constant.dims()); });
  budget.each(program.regions(), [&](const fbs::Region& region) {
    budget.text(region.backend());
    budget.numbers(region.constants());
    budget.numbers(region.kernel_notes());
    budget.each(region.growths(), [&](const fbs::Growth& growth) { budget.text(growth.why()); });
  });
  budget.each(program.functions(), [&](const fbs::Function& function) { visit_function(budget, function); });
  budget.each(program.nodes(), [&](const fbs::NodeNote& node) {
    for (const flatbuffers::String* text : {node.name(), node.op(), node.reason()}) budget.text(text);
    budget.texts(node.refusals());
  });
  budget.each(program.plugins(), [&](const fbs::Plugin& plugin) {
    for (const flatbuffers::String* text : {plugin.name(), plugin.version()}) budget.text(text);
  });
  budget.each(program.variants(), [&](const fbs::Program& variant) { visit_program(budget, variant); });
}

}  // namespace

Status verify_unshared(const fbs::Program& program, size_t bytes) {
  Budget budget(bytes);
  visit_program(budget, program);
  if (budget.spent()) return fail("damaged: its description refers to the same parts again and again");
  if (!budget.aligned()) return fail("damaged: a list in its description is not aligned");
  return {};
}

}  // namespace intarsia
