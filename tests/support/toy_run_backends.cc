// The only backend of programs that tests of the API run.
#include "api/run_backends.h"
#include "tests/support/runtime_support.h"

std::vector<intarsia::RunBackend> intarsia::run_backends() {
  static const std::vector<RunBackend> backends = {test::toy_backend()};
  return backends;
}
