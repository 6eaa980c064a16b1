#include "backends/tensorflow/saved_model.h"

#include <algorithm>
#include <numeric>

#include "backends/tensorflow/op_registry.h"
#include "backends/tensorflow/restore_variables.h"
#include "backends/tensorflow/session.h"
#include "tensorflow/dtypes.h"

namespace intarsia {
namespace tf {
namespace {

/// Reader that adds nodes for variables and tables, and fetches all of them in one run: each run that follows
/// a change of the graph costs TensorFlow a second for a large model.
class ContentsReader {
 public:
  explicit ContentsReader(Session& session) : session_(session) {}

  Status add_variable(const std::string& node) {
    const TF_Output handle = TRY(session_.graph().find(node + ":0"));
    int type = 0;
    CallStatus status(session_.library());
    api().get_type(handle.operation, "dtype", &type, status);
    TRY(status.check());
    TF_OperationDescription* read = describe("ReadVariableOp", handle);
    api().set_type(read, "dtype", type);
    return finish(read, 1);
  }

  Status add_table(const SavedTable& table) {
    TF_OperationDescription* read =
        describe("LookupTableExportV2", TRY(session_.graph().find(table.node + ":0")));
    api().set_type(read, "Tkeys", tensorflow::data_type_of(table.key));
    api().set_type(read, "Tvalues", tensorflow::data_type_of(table.value));
    return finish(read, 2);
  }

  Result<std::vector<Tensor>> read() {
    if (wanted_.empty()) return std::vector<Tensor>();
    std::vector<TF_Tensor*> made(wanted_.size(), nullptr);
    TRY(session_.run({}, {}, wanted_, made));
    std::vector<OwnedTensor> owned;
    for (TF_Tensor* tensor : made) owned.emplace_back(tensor, DeleteTensor{&session_.library()});
    std::vector<Tensor> tensors;
    for (OwnedTensor& tensor : owned)
      tensors.push_back(TRY(adopt_tensor(session_.library(), std::move(tensor))));
    return tensors;
  }

 private:
  const Api& api() const { return session_.library().api(); }

  TF_OperationDescription* describe(const char* op, TF_Output handle) {
    TF_OperationDescription* description =
        api().new_operation(session_.graph(), op, fmt::format("intarsia_read_{}", wanted_.size()).c_str());
    api().add_input(description, handle);
    return description;
  }

  Status finish(TF_OperationDescription* description, int outputs) {
    CallStatus status(session_.library());
    TF_Operation* operation = api().finish_operation(description, status);
    TRY(status.check());
    for (int i = 0; i < outputs; ++i) wanted_.push_back({operation, i});
    return {};
  }

  Session& session_;
  std::vector<TF_Output> wanted_;
};

/// Returns the i-th of a tensor's elements along its first axis.
TensorView element(const Tensor& tensor, size_t i) {
  const Shape rest(tensor.shape().begin() + 1, tensor.shape().end());
  TensorView view{nullptr, tensor.dtype(), rest};
  const size_t offset = i * static_cast<size_t>(element_count(rest));
  view.data =
      tensor.dtype() == DType::string
          ? static_cast<void*>(tensor.as<std::string>().data() + offset)
          : static_cast<void*>(static_cast<std::byte*>(tensor.data()) + dtype_bytes(tensor.dtype(), offset));
  return view;
}

/// Sorts a table by its keys: TensorFlow returns the entries in a different order each time, and the same
/// model must give the same program.
template <typename Key>
TableContents sort_by(const TableContents& table) {
  const std::span<Key> keys = table.keys.as<Key>();
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return keys[i]; });
  TableContents sorted{Tensor(table.keys.dtype(), table.keys.shape()),
                       Tensor(table.values.dtype(), table.values.shape())};
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.keys.as<Key>()[i] = keys[order[i]];
    copy_elements(element(table.values, order[i]), element(sorted.values, i));
  }
  return sorted;
}

TableContents sort_table(TableContents table) {
  const bool is_map = table.keys.shape().size() == 1 && !table.values.shape().empty() &&
                      table.values.shape()[0] == table.keys.shape()[0];
  if (is_map && table.keys.dtype() == DType::string) return sort_by<std::string>(table);
  if (is_map && table.keys.dtype() == DType::i64) return sort_by<int64_t>(table);
  if (is_map && table.keys.dtype() == DType::i32) return sort_by<int32_t>(table);
  return table;
}

Result<const Library*> open_library(const std::vector<std::string>& op_libraries) {
  const Library* library = TRY(Library::get());
  for (const std::string& path : op_libraries) TRY(library->load_operators(path));
  return library;
}

Result<SavedContents> read_contents(const Library& library, const SavedModelFiles& files,
                                    const std::vector<std::string>& variables,
                                    const std::vector<SavedTable>& tables) {
  const std::unique_ptr<Session> session = TRY(open_saved_model(library, files, {1, true}));
  ContentsReader reader(*session);
  for (const std::string& variable : variables)
    TRY(with_context(reader.add_variable(variable), "variable '{}'", variable));
  for (const SavedTable& table : tables) TRY(with_context(reader.add_table(table), "table '{}'", table.node));
  std::vector<Tensor> tensors = TRY(reader.read());
  SavedContents contents;
  auto next = tensors.begin();
  for (size_t i = 0; i < variables.size(); ++i) contents.variables.push_back(std::move(*next++));
  for (size_t i = 0; i < tables.size(); ++i, next += 2)
    contents.tables.push_back(sort_table({std::move(next[0]), std::move(next[1])}));
  return contents;
}

}  // namespace
}  // namespace tf

TensorFlowSource make_tensorflow_source(std::vector<std::string> op_libraries) {
  TensorFlowSource source;
  source.find_op = [op_libraries](const std::string& op) -> Result<const tensorflow::OpDef*> {
    TRY(tf::open_library(op_libraries));
    return TRY(tf::op_registry())->find(op);
  };
  source.read_saved_model = [op_libraries](const SavedModelFiles& files,
                                           const std::vector<std::string>& variables,
                                           const std::vector<SavedTable>& tables) -> Result<SavedContents> {
    return tf::read_contents(*TRY(tf::open_library(op_libraries)), files, variables, tables);
  };
  source.read_checkpoint_objects = [op_libraries](const std::string& folder) -> Result<std::string> {
    return tf::read_checkpoint_objects(*TRY(tf::open_library(op_libraries)), folder);
  };
  source.copy_checkpoint =
      [op_libraries](const std::string& from, const std::string& to, const std::vector<std::string>& keys,
                     const std::vector<int32_t>& types, const std::string& objects) -> Status {
    return tf::copy_checkpoint(*TRY(tf::open_library(op_libraries)), from, to, keys, types, objects);
  };
  return source;
}

}  // namespace intarsia
