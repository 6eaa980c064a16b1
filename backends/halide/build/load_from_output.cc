#include "backends/halide/build/load_from_output.h"

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Halide::Internal::IRMutator;
using Halide::Internal::Load;

class LoadFromOutput : public IRMutator {
 public:
  LoadFromOutput(std::string input, Halide::Func output)
      : input_(std::move(input)), output_(std::move(output)) {}

 private:
  using IRMutator::visit;

  Expr visit(const Load* load) override {
    if (load->name != input_) return IRMutator::visit(load);
    return Load::make(load->type, output_.name(), mutate(load->index), {},
                      output_.output_buffer().parameter(), mutate(load->predicate), load->alignment);
  }

  std::string input_;
  Halide::Func output_;
};

}  // namespace

void load_from_output(Halide::Pipeline& pipeline, const std::string& input, Halide::Func output) {
  pipeline.add_custom_lowering_pass(new LoadFromOutput(input, std::move(output)));
}

}  // namespace intarsia::halide
