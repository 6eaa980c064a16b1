#include "rewrite/replace_by_hand.h"

#include <algorithm>

#include "import/operator_roles.h"
#include "rewrite/find_scope.h"
#include "rewrite/made_tensors.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// Input or output of a function of a program.
struct FunctionTensor {
  std::string name;
  DType dtype;
  std::optional<SymbolicShape> shape;  // numbers; other sizes are unknown
};

std::vector<FunctionTensor> tensors_of(const fbs::FunctionT& function, const std::vector<uint32_t>& values) {
  std::vector<FunctionTensor> tensors;
  for (const uint32_t number : values) {
    const fbs::ValueT& value = *function.values[number];
    FunctionTensor tensor{value.name, static_cast<DType>(value.dtype), {}};
    if (!value.rank_unknown) {
      tensor.shape.emplace();
      for (const int64_t size : value.dims) tensor.shape->push_back(size < 0 ? Dim::unknown() : Dim(size));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<const fbs::FunctionT*> find_function(const MappedProgram& program, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& function : program.description.functions) {
    if (function->name == name) return function.get();
    names.push_back(function->name);
  }
  if (name.empty() && names.size() == 1) return program.description.functions[0].get();
  return fail(ErrorKind::invalid_argument, "the program '{}' has {}; its functions: {}", program.path,
              name.empty() ? "several functions, name one" : fmt::format("no function '{}'", name),
              fmt::join(names, ", "));
}

std::string describe(const std::vector<FunctionTensor>& tensors) {
  std::vector<std::string> texts;
  for (const FunctionTensor& tensor : tensors)
    texts.push_back(fmt::format("{} ({})", tensor.name, dtype_name(tensor.dtype)));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

/// Tensor of a body, by all names that it has.
struct BodyTensor {
  std::string source;
  std::vector<std::string> names;
  int32_t data_type = 0;  // 0: not known
};

/// Types and names of tensors of a body.
class BodyTensors {
 public:
  BodyTensors(const Body& body, const TensorFlowSource& source)
      : body_(body), source_(source), numbers_(body.index()) {}

  Result<BodyTensor> find(const std::string& source) const {
    for (const BodyArgument& argument : body_.arguments)
      if (argument.name == source)
        return BodyTensor{source, {argument.key, argument.name, node_of(source)}, argument.data_type};
    BodyTensor tensor{source, {source, node_of(source)}, 0};
    const BodyNode& node = body_.nodes[numbers_.at(tensor.names[1])];
    const size_t output = static_cast<size_t>(std::max(parse_reference(source).output, 0));
    if (output > 0) tensor.names.pop_back();
    const std::vector<MadeTensor> made = TRY(find_made_tensors(node.def, source_));
    if (output < made.size()) tensor.data_type = made[output].data_type;
    return tensor;
  }

  /// Returns all tensors that a node makes.
  Result<std::vector<std::string>> made_by(const std::string& node) const {
    std::vector<std::string> sources;
    const size_t count = TRY(find_made_tensors(body_.nodes[numbers_.at(node)].def, source_)).size();
    for (size_t i = 0; i < count; ++i) sources.push_back(fmt::format("{}:{}", node, i));
    return sources;
  }

  /// Returns the tensors that hold values: handles of variables and tables are left out.
  Result<std::vector<BodyTensor>> find_values(const std::vector<std::string>& sources) const {
    std::vector<BodyTensor> tensors;
    for (const std::string& source : sources) {
      BodyTensor tensor = TRY(find(source));
      if (tensor.data_type != resource_type && tensor.data_type != variant_type)
        tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  /// Returns the nodes without those that read variables.
  std::set<std::string> without_reads(const std::set<std::string>& nodes) const {
    std::set<std::string> rest;
    for (const std::string& name : nodes)
      if (!reads_variable(body_.nodes[numbers_.at(name)].def.op)) rest.insert(name);
    return rest;
  }

 private:
  const Body& body_;
  const TensorFlowSource& source_;
  const std::map<std::string, size_t> numbers_;
};

std::string describe(const std::vector<BodyTensor>& tensors) {
  std::vector<std::string> texts;
  for (const BodyTensor& tensor : tensors)
    texts.push_back(tensor.data_type == 0
                        ? tensor.names[0]
                        : fmt::format("{} ({})", tensor.names[0], dtype_name(dtype_of(tensor.data_type))));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

/// Orders the tensors as the function's, by name if each of these has a tensor of its name.
std::vector<BodyTensor> order_by_name(const std::vector<BodyTensor>& tensors,
                                      const std::vector<FunctionTensor>& wanted) {
  std::vector<BodyTensor> ordered;
  for (const FunctionTensor& one : wanted)
    for (const BodyTensor& tensor : tensors)
      if (std::ranges::find(tensor.names, one.name) != tensor.names.end()) {
        ordered.push_back(tensor);
        break;
      }
  return ordered.size() == tensors.size() ? ordered : tensors;
}

/// Pairs tensors of the body with those of the function, `what` of which they are.
Result<std::vector<ExchangedTensor>> pair_tensors(const std::vector<BodyTensor>& found,
                                                  const std::vector<FunctionTensor>& wanted,
                                                  std::string_view what) {
  const std::vector<BodyTensor> ordered = order_by_name(found, wanted);
  const bool agree = std::ranges::equal(ordered, wanted, [](const BodyTensor& a, const FunctionTensor& b) {
    return a.data_type == 0 || a.data_type == data_type_of(b.dtype);
  });
  if (!agree)
    return fail(ErrorKind::invalid_argument, "the {} of the nodes are {}; those of the function are {}", what,
                describe(ordered), describe(wanted));
  std::vector<ExchangedTensor> tensors;
  for (size_t i = 0; i < wanted.size(); ++i)
    tensors.push_back({ordered[i].source, data_type_of(wanted[i].dtype), wanted[i].shape});
  return tensors;
}

std::vector<std::string> operators_in(const Body& body, const std::set<std::string>& nodes) {
  std::vector<std::string> operators;
  for (const BodyNode& node : body.nodes)
    if (nodes.contains(node.def.name)) operators.push_back(node.def.op);
  return operators;
}

}  // namespace

Result<HandReplacer> HandReplacer::make(const RewriteRequest& request, const TensorFlowSource& source) {
  HandReplacer replacer(request, source);
  for (const Replacement& one : request.replacements)
    TRY(with_context(replacer.add(one), "--replace '{}'", one.scope));
  return replacer;
}

Status HandReplacer::add(const Replacement& replacement) {
  for (const Wanted& one : wanted_)
    if (one.replacement.scope == replacement.scope)
      return fail(ErrorKind::invalid_argument, "is given twice");
  const auto known = std::ranges::find(programs_, replacement.program, [](const auto& p) { return p->path; });
  const auto number = static_cast<size_t>(known - programs_.begin());
  if (known == programs_.end())
    programs_.push_back(std::make_shared<MappedProgram>(TRY(read_program(replacement.program))));
  wanted_.push_back({replacement, number, TRY(find_function(*programs_[number], replacement.function))});
  return {};
}

std::set<std::string> HandReplacer::names() const {
  std::set<std::string> names;
  for (const Wanted& one : wanted_) names.insert(one.replacement.scope);
  return names;
}

Result<ProgramCall> HandReplacer::make_call(const Body& body, const std::set<std::string>& nodes,
                                            const Wanted& wanted) const {
  const BodyTensors tensors(body, source_);
  const std::vector<FunctionTensor> inputs = tensors_of(*wanted.function, wanted.function->inputs),
                                    outputs = tensors_of(*wanted.function, wanted.function->outputs);
  ExchangedSources exchanged = find_exchanged(body, nodes);
  std::vector<BodyTensor> given = TRY(tensors.find_values(exchanged.inputs));
  if (given.size() < inputs.size()) {
    const std::vector<std::string> with_variables = find_exchanged(body, tensors.without_reads(nodes)).inputs;
    std::vector<BodyTensor> values = TRY(tensors.find_values(with_variables));
    if (values.size() == inputs.size()) given = std::move(values);
  }
  if (nodes.size() == 1) exchanged.outputs = TRY(tensors.made_by(*nodes.begin()));
  return ProgramCall{
      .program = program_input(program_name(wanted.program + 1), body.is_function()),
      .function = wanted.function->name,
      .inputs = TRY(pair_tensors(given, inputs, "inputs")),
      .outputs = TRY(pair_tensors(TRY(tensors.find_values(exchanged.outputs)), outputs, "outputs")),
      .threads = threads_};
}

Result<std::vector<ReplacedPart>> HandReplacer::replace(SignatureBody& body, EffectFinder& effects) {
  std::vector<ReplacedPart> parts;
  std::vector<ProgramCall> calls;
  std::map<std::string, std::string> taken;  // scopes by node
  for (Wanted& wanted : wanted_) {
    const std::string& scope = wanted.replacement.scope;
    for (const std::set<std::string>& nodes : find_scope(body.body, scope)) {
      for (const std::string& node : nodes)
        if (const auto [at, is_new] = taken.emplace(node, scope); !is_new)
          return fail(ErrorKind::invalid_argument, "--replace '{}': its node '{}' is in '{}', too", scope,
                      node, at->second);
      calls.push_back(TRY(with_context(make_call(body.body, nodes, wanted), "--replace '{}'", scope)));
      parts.push_back({.function = wanted.function->name,
                       .where = body.body.function,
                       .signatures = body.signatures,
                       .call = calls.back(),
                       .nodes = nodes.size(),
                       .operators = count_operators(operators_in(body.body, nodes)),
                       .scope = scope,
                       .program = wanted.replacement.program});
      wanted.is_found = true;
    }
  }
  if (calls.empty()) return parts;
  std::set<std::string> scopes;
  for (const auto& [node, scope] : taken) scopes.insert(scope);
  TRY(with_context(with_kind(ErrorKind::invalid_argument, replace_parts(body.body, calls, effects)),
                   "--replace '{}'", fmt::join(scopes, "', '")));
  return parts;
}

Status HandReplacer::check_all_found() const {
  for (const Wanted& one : wanted_)
    if (!one.is_found)
      return fail(ErrorKind::invalid_argument,
                  "--replace '{0}': no node '{0}', scope '{0}/' or call of a function '{0}' is in what the "
                  "signatures run; functions of loops and branches do not count",
                  one.replacement.scope);
  return {};
}

std::vector<WrittenProgram> HandReplacer::programs_of(const std::vector<ReplacedPart>& parts) const {
  std::vector<WrittenProgram> programs;
  for (size_t i = 0; i < programs_.size(); ++i)
    if (std::ranges::find(parts, programs_[i]->path, &ReplacedPart::program) != parts.end())
      programs.push_back({program_name(i + 1), programs_[i]->path});
  return programs;
}

}  // namespace intarsia
