// Search for ONNX Runtime, and the error if it is missing.
//
// Covers: backends/onnxruntime/ library.cc
// src/base/code/ foreign_library.cc
// src/base/files/ own_file.cc
#include <gtest/gtest.h>

#include "backends/onnxruntime/session.h"

namespace intarsia::ort {
namespace {

std::string error_of(const LibrarySearch& search) {
  const auto opened = Library::open(search);
  return opened ? "opened " + (*opened)->path() : opened.error().message;
}

TEST(OnnxRuntimeLibrary, IsFoundInTheBuildTree) {
  const auto library = Library::get();
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_TRUE((*library)->version().starts_with("1."));
  EXPECT_EQ(*Library::get(), *library);  // the library opens once per process
}

TEST(OnnxRuntimeLibrary, AbsenceNamesWhatWasSearchedAndTheRemedy) {
  EXPECT_EQ(error_of({.given = {}, .loaded_name = {}, .patterns = {"/nowhere/libonnxruntime.so.*"}}),
            "ONNX Runtime not found; searched: /nowhere/libonnxruntime.so.*: no such file; install "
            "ONNX Runtime (pip install onnxruntime) or set INTARSIA_ONNXRUNTIME to its libonnxruntime.so");
}

TEST(OnnxRuntimeLibrary, AWrongUserPathIsAnError) {
  const std::string message =
      error_of({.given = "/nowhere/x.so", .loaded_name = "libonnxruntime.so.1", .patterns = {}});
  EXPECT_TRUE(
      message.starts_with("INTARSIA_ONNXRUNTIME is '/nowhere/x.so', where no ONNX Runtime can be opened"))
      << message;
}

TEST(OnnxRuntimeLibrary, AnotherLibraryIsNotTakenForIt) {
  const std::string message = error_of({.given = "libm.so.6", .loaded_name = {}, .patterns = {}});
  EXPECT_NE(message.find("not ONNX Runtime (no OrtGetApiBase)"), std::string::npos) << message;
}

TEST(OnnxRuntimeLibrary, TheFirstSessionDeterminesThePool) {
  const Library& library = **Library::get();
  auto first = library.environment({.threads = 2});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->pool.threads, 2);
  EXPECT_EQ((*library.environment({.threads = 3}))->pool.threads, 2);
  first->reset();
  EXPECT_EQ((*library.environment({.threads = 3}))->pool.threads, 3);
}

TEST(OnnxRuntimeLibrary, AnEnvironmentOfOthersHasNoPool) {
  const Library& library = **Library::get();
  Env* of_others = nullptr;
  ASSERT_TRUE(library.check(library.api().create_env(log_level_error, "others", &of_others)));
  EXPECT_EQ((*library.environment({.threads = 2}))->pool.threads, 1);
  library.api().release_env(of_others);
  EXPECT_EQ((*library.environment({.threads = 2}))->pool.threads, 2);
}

// Checks slots by what they do: a number that is off by one would not give these answers.
TEST(OnnxRuntimeLibrary, SlotsAreTheRightOnes) {
  const Library& library = **Library::get();
  const Api& api = library.api();
  float data[6] = {1, 2, 3, 4, 5, 6};
  const TensorView view{data, DType::f32, {2, 3}};
  const auto value = wrap_tensor(library, view);
  ASSERT_TRUE(value);
  void* address = nullptr;
  ASSERT_TRUE(library.check(api.tensor_data(value->get(), &address)));
  EXPECT_EQ(address, data);  // no copy
  Kind kind{};
  ASSERT_TRUE(library.check(api.value_kind(value->get(), &kind)));
  EXPECT_EQ(kind, Kind::tensor);
  int has = 0;
  ASSERT_TRUE(library.check(api.has_value(value->get(), &has)));
  EXPECT_EQ(has, 1);
  OrtStatus* status =
      api.create_tensor_on_data(library.cpu_memory(), data, 4, view.shape.data(), 2, 1, nullptr);
  ASSERT_NE(status, nullptr);
  EXPECT_GT(api.status_code(status), 0);
  EXPECT_FALSE(library.check(status));
}

}  // namespace
}  // namespace intarsia::ort
