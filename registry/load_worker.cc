// Worker process of the compile half: loads a program and binds it to this machine's devices, to see whether
// the frameworks that run its regions can do that in time. Arguments: the program, the threads of a run,
// seconds of CPU time.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "api/run_backends.h"
#include "base/code/worker_process.h"
#include "runtime/bind_program.h"

namespace {

using namespace intarsia;

Status load(const std::string& path, int threads) {
  const auto program = TRY(load_program(path, run_backends()));
  TRY(bind_program(program, {.devices = {}, .threads = threads, .may_stand_in = true}));
  return {};
}

template <typename Number>
Number parse(const char* text) {
  Number number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("intarsia-load PROGRAM THREADS CPU_SECONDS: part of `intarsia compile`\n", stderr);
    return 2;
  }
  end_with_parent();
  limit_cpu_time(parse<double>(arguments[3]));
  const Status loaded = load(arguments[1], parse<int>(arguments[2]));
  if (!loaded) std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
  std::fflush(stderr);
  _exit(loaded ? 0 : 1);  // closing what frameworks opened takes time, too
}
