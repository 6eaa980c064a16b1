/* A program compiled against the headers of API version 1 as they were first (beside this file): it must keep
 * running whatever later headers add. Usage: caller MODEL PROGRAM, a model whose only input is f32 and has
 * fixed sizes. */
#include <dlfcn.h>
#include <intarsia/intarsia_compile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(intarsia_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", intarsia_error_message(error));
  exit(1);
}

/* A struct of the size that this header knows, followed by bytes that the library must leave alone. */
#define GUARDED(type, name)          \
  struct {                           \
    type is;                         \
    unsigned char guard[64];         \
  } name;                            \
  memset(&name, 0, sizeof(name.is)); \
  memset(name.guard, 0xa5, 64);      \
  name.is.struct_size = sizeof(type)

#define LEFT_ALONE(name)                                                 \
  for (int at = 0; at < 64; ++at)                                        \
    if (name.guard[at] != 0xa5) {                                        \
      fprintf(stderr, "%s: written past its end, byte %d\n", #name, at); \
      exit(1);                                                           \
    }

static void compile(const char* model, const char* program) {
  void* library = dlopen("libintarsia_compile.so", RTLD_NOW);
  if (library == NULL) exit((fprintf(stderr, "%s\n", dlerror()), 1));
  intarsia_error* (*make)(const intarsia_compile_request*, char**) =
      (intarsia_error * (*)(const intarsia_compile_request*, char**)) dlsym(library, "intarsia_compile");
  intarsia_error* (*verify)(const intarsia_check_request*, int32_t*, char**) =
      (intarsia_error * (*)(const intarsia_check_request*, int32_t*, char**))
          dlsym(library, "intarsia_check");
  GUARDED(intarsia_compile_request, request);
  request.is.model = model;
  request.is.program = program;
  request.is.tune = "off";
  check(make(&request.is, NULL));
  GUARDED(intarsia_check_request, compare);
  compare.is.path = program;
  compare.is.against = "reference";
  compare.is.rtol = compare.is.atol = -1;
  int32_t ok = 0;
  check(verify(&compare.is, &ok, NULL));
  if (!ok) exit((fprintf(stderr, "it computes something else than the reference\n"), 1));
}

static void describe(const intarsia_program* program) {
  GUARDED(intarsia_program_info, info);
  check(intarsia_program_describe(program, &info.is));
  LEFT_ALONE(info)
  GUARDED(intarsia_function, function);
  check(intarsia_program_function(program, 0, &function.is));
  LEFT_ALONE(function)
  GUARDED(intarsia_slot, slot);
  check(intarsia_program_slot(program, 0, &slot.is));
  LEFT_ALONE(slot)
  GUARDED(intarsia_device, device);
  check(intarsia_device_info(0, &device.is));
  LEFT_ALONE(device)
  printf("%zu functions, %s, %s, %s\n", info.is.function_count, function.is.name, slot.is.device,
         device.is.name);
}

static void run(intarsia_program* program) {
  GUARDED(intarsia_argument, input);
  check(intarsia_program_input(program, 0, 0, &input.is));
  LEFT_ALONE(input)
  GUARDED(intarsia_bind_options, options);
  options.is.threads = 1;
  intarsia_session* session = NULL;
  check(intarsia_program_bind(program, &options.is, &session));
  size_t elements = 1;
  for (int64_t i = 0; i < input.is.rank; ++i) elements *= (size_t)input.is.shape[i];
  float* data = calloc(elements, sizeof(float));
  intarsia_tensor x = {.struct_size = sizeof(x),
                       .name = input.is.name,
                       .dtype = INTARSIA_F32,
                       .data = data,
                       .rank = (size_t)input.is.rank,
                       .shape = input.is.shape};
  check(intarsia_tensor_fill(&x, 1));
  GUARDED(intarsia_argument, output);
  check(intarsia_program_output(program, 0, 0, &output.is));
  GUARDED(intarsia_tensor, y);
  y.is.name = output.is.name;
  check(intarsia_session_run(session, NULL, &x, 1, &y.is, 1));
  LEFT_ALONE(y)
  printf("%s: rank %zu\n", y.is.name, y.is.rank);
  intarsia_tensor_release(&y.is);
  intarsia_session_release(session);
  free(data);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  compile(argv[1], argv[2]);
  intarsia_program* program = NULL;
  check(intarsia_program_load(argv[2], &program));
  describe(program);
  run(program);
  intarsia_program_release(program);
  return 0;
}
