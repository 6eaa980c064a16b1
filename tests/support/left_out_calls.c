/* Calls parts that a build may leave out, and prints the error of each in a line: left_out_calls PROGRAM,
 * whose first slot is bound to devices. */
#include <stdio.h>

#include "include/intarsia/intarsia_pipeline.h"

static void print(const char* what, intarsia_error* error) {
  printf("%s: %s\n", what, error == NULL ? "ok" : intarsia_error_message(error));
  intarsia_error_release(error);
}

static intarsia_error* bind(const intarsia_program* program, const char* device) {
  intarsia_slot slot = {.struct_size = sizeof slot};
  intarsia_error* error = intarsia_program_slot(program, 0, &slot);
  if (error != NULL) return error;
  intarsia_binding binding = {.slot = slot.name, .device = device};
  intarsia_bind_options options = {.struct_size = sizeof options, .bindings = &binding, .binding_count = 1};
  intarsia_session* session = NULL;
  error = intarsia_program_bind(program, &options, &session);
  intarsia_session_release(session);
  return error;
}

int main(int count, char** arguments) {
  intarsia_program* program = NULL;
  intarsia_pipeline_builder* builder = NULL;
  if (count != 2) return 2;
  print("load", intarsia_program_load(arguments[1], &program));
  print("cpu", bind(program, "cpu"));
  print("opencl", bind(program, "opencl:0"));
  print("cuda", bind(program, "cuda:0"));
  print("npu", bind(program, "toy_npu:0"));
  print("plug-in", intarsia_load_plugin("toy_npu.so"));
  print("pipeline", intarsia_pipeline_builder_create(&builder));
  print("stage", intarsia_pipeline_add_stages(builder, program, NULL));
  intarsia_pipeline_builder_release(builder);
  intarsia_program_release(program);
  return 0;
}
