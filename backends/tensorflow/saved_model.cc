#include "backends/tensorflow/saved_model.h"

#include "backends/tensorflow/op_registry.h"
#include "backends/tensorflow/tf_session.h"
#include "tensorflow/dtypes.h"

namespace intarsia {
namespace tf {
namespace {

class LoadedSavedModel : public SavedModelState {
 public:
  explicit LoadedSavedModel(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  Result<Tensor> read_variable(const std::string& node) override {
    const TF_Output handle = TRY(session_->graph().find(node + ":0"));
    const Api& api = library().api();
    int type = 0;
    CallStatus status(library());
    api.get_type(handle.operation, "dtype", &type, status);
    TRY(status.check());
    TF_OperationDescription* read = api.new_operation(session_->graph(), "ReadVariableOp", next_name().c_str());
    api.add_input(read, handle);
    api.set_type(read, "dtype", type);
    return std::move(TRY(run(read, 1))[0]);
  }

  Result<TableContents> read_table(const std::string& node, DType key, DType value) override {
    const TF_Output handle = TRY(session_->graph().find(node + ":0"));
    const Api& api = library().api();
    TF_OperationDescription* read = api.new_operation(session_->graph(), "LookupTableExportV2", next_name().c_str());
    api.add_input(read, handle);
    api.set_type(read, "Tkeys", tensorflow::data_type_of(key));
    api.set_type(read, "Tvalues", tensorflow::data_type_of(value));
    std::vector<Tensor> contents = TRY(run(read, 2));
    return TableContents{std::move(contents[0]), std::move(contents[1])};
  }

 private:
  const Library& library() const { return session_->library(); }
  std::string next_name() { return fmt::format("intarsia_read_{}", reads_++); }

  Result<std::vector<Tensor>> run(TF_OperationDescription* description, int outputs) {
    CallStatus status(library());
    TF_Operation* operation = library().api().finish_operation(description, status);
    TRY(status.check());
    std::vector<TF_Output> wanted;
    for (int i = 0; i < outputs; ++i) wanted.push_back({operation, i});
    std::vector<TF_Tensor*> made(wanted.size(), nullptr);
    TRY(session_->run({}, {}, wanted, made));
    std::vector<OwnedTensor> owned;
    for (TF_Tensor* tensor : made) owned.emplace_back(tensor, DeleteTensor{&library()});
    std::vector<Tensor> tensors;
    for (OwnedTensor& tensor : owned) tensors.push_back(TRY(adopt_tensor(library(), std::move(tensor))));
    return tensors;
  }

  std::unique_ptr<Session> session_;
  size_t reads_ = 0;
};

Status load_all(const Library& library, const std::vector<std::string>& op_libraries) {
  for (const std::string& path : op_libraries) TRY(library.load_operators(path));
  return {};
}

}  // namespace
}  // namespace tf

TensorFlowSource make_tensorflow_source(std::vector<std::string> op_libraries) {
  TensorFlowSource source;
  source.find_op = [op_libraries](const std::string& op) -> Result<const tensorflow::OpDef*> {
    TRY(tf::load_all(*TRY(tf::Library::get()), op_libraries));
    return TRY(tf::op_registry())->find(op);
  };
  source.open = [op_libraries](const std::string& folder, const std::vector<std::string>& tags) -> Result<std::unique_ptr<SavedModelState>> {
    const tf::Library& library = *TRY(tf::Library::get());
    TRY(tf::load_all(library, op_libraries));
    tf::SessionSettings settings;
    settings.has_control_flow = true;
    return std::make_unique<tf::LoadedSavedModel>(TRY(tf::Session::from_saved_model(library, folder, tags, settings)));
  };
  return source;
}

}  // namespace intarsia
