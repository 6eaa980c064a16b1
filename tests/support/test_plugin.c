/* A plug-in for tests: it copies its first input to its first output. Compiled in several variants
 * (tests/CMakeLists.txt); in each, the environment variable TEST_PLUGIN_FAULT lets a call go wrong when it is
 * made: "upload error", "allocate null", "run silent" (an error without a message), "wait error",
 * "shapes wrong", "compile null". */
#include <intarsia/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_NAME
#define PLUGIN_NAME "test_npu"
#endif
#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION "1.2"
#endif
#ifndef PLUGIN_ABI
#define PLUGIN_ABI INTARSIA_PLUGIN_ABI
#endif

/* What was released, in order: "u" an executable, "f" memory, "c" a device. */
static char log_text[256];
static void note(const char* what) {
  if (strlen(log_text) + 2 < sizeof(log_text)) strcat(log_text, what);
}
__attribute__((visibility("default"))) char* test_plugin_log(void) { return log_text; }

static int has_fault(const char* call, const char* kind) {
  char wanted[64];
  const char* fault = getenv("TEST_PLUGIN_FAULT");
  snprintf(wanted, sizeof(wanted), "%s %s", call, kind);
  return fault != NULL && strcmp(fault, wanted) == 0;
}

static int32_t status_of(const char* call, const intarsia_plugin_message* message) {
  if (has_fault(call, "silent")) return INTARSIA_PLUGIN_FAILED;
  if (!has_fault(call, "error")) return INTARSIA_PLUGIN_OK;
  snprintf(message->text, message->size, "a declared fault");
  return INTARSIA_PLUGIN_FAILED;
}

/* ---- Compiling ---- */

static int32_t supports(const intarsia_plugin_graph* graph, size_t number, const char* device,
                        const intarsia_plugin_message* why_not) {
  intarsia_plugin_node node;
  memset(&node, 0, sizeof(node));
  node.struct_size = sizeof(node);
  (void)device;
  if (graph->node(graph, number, &node) == INTARSIA_PLUGIN_OK && strcmp(node.op, "Relu") == 0) return 1;
  if (!has_fault("supports", "silent")) snprintf(why_not->text, why_not->size, "no %s here", node.op);
  return 0;
}

static int32_t compile(const intarsia_plugin_graph* region, const intarsia_plugin_compile_options* options,
                       intarsia_plugin_compiled* compiled, const intarsia_plugin_message* message) {
  const float constant[2] = {1, 2};
  const int64_t size = 2;
  (void)region, (void)options;
  compiled->workspace_bytes = 100;
  if (compiled->add_constant(compiled, constant, 1, 1, &size) != INTARSIA_PLUGIN_OK)
    return INTARSIA_PLUGIN_FAILED;
  if (!has_fault("compile", "null")) compiled->set_blob(compiled, "copy", 4);
  return status_of("compile", message);
}

/* Of every node as many nanoseconds as TEST_PLUGIN_COST says. */
static int32_t cost(const intarsia_plugin_graph* region, size_t node, const char* device,
                    int64_t* nanoseconds, const intarsia_plugin_message* message) {
  const char* text = getenv("TEST_PLUGIN_COST");
  (void)region, (void)node, (void)device;
  *nanoseconds = text == NULL ? 1000 : atoll(text);
  return status_of("cost", message);
}

/* All Relu are one. */
static int32_t groups(const intarsia_plugin_graph* graph, const char* device, size_t* group_of,
                      const intarsia_plugin_message* message) {
  size_t number;
  (void)device;
  for (number = 0; number < graph->node_count; ++number) {
    intarsia_plugin_node node;
    memset(&node, 0, sizeof(node));
    node.struct_size = sizeof(node);
    if (graph->node(graph, number, &node) == INTARSIA_PLUGIN_OK && strcmp(node.op, "Relu") == 0)
      group_of[number] = 7;
  }
  return status_of("groups", message);
}

/* A compiler of a later header. */
typedef struct later_compiler {
  intarsia_plugin_compiler compiler;
  int32_t (*later)(void);
} later_compiler;

static int32_t later(void) { abort(); }

static later_compiler compiler = {
    {sizeof(intarsia_plugin_compiler), 0, supports, compile, cost, 5000, 0.5, groups}, later};

/* ---- Running ---- */

static size_t device_count(void) { return 2; }

static int32_t open_device(size_t number, intarsia_plugin_device* device,
                           const intarsia_plugin_message* message) {
  if (!has_fault("open_device", "null")) {
    *device = malloc(sizeof(size_t));
    *(size_t*)*device = number;
  }
  if (status_of("open_device", message) == INTARSIA_PLUGIN_OK) return INTARSIA_PLUGIN_OK;
  free(*device);
  return INTARSIA_PLUGIN_DEVICE_LOST;
}

static void close_device(intarsia_plugin_device device) {
  note("c");
  free(device);
}

/* A handle is the address with all bits inverted. */
static char* address_of(intarsia_plugin_memory memory) { return (char*)~(uintptr_t)memory; }

static int32_t allocate(intarsia_plugin_device device, size_t bytes, intarsia_plugin_memory* memory,
                        const intarsia_plugin_message* message) {
  (void)device;
  if (status_of("allocate", message) != INTARSIA_PLUGIN_OK) return INTARSIA_PLUGIN_OUT_OF_MEMORY;
  if (!has_fault("allocate", "null")) *memory = (intarsia_plugin_memory) ~(uintptr_t)calloc(bytes, 1);
  return INTARSIA_PLUGIN_OK;
}

static void free_memory(intarsia_plugin_device device, intarsia_plugin_memory memory) {
  (void)device;
  note("f");
  free(address_of(memory));
}

/* Every second piece of work has an event. */
static void begin(intarsia_plugin_event* event) {
  static int works;
  if (__sync_add_and_fetch(&works, 1) % 2 == 0 || has_fault("wait", "error")) *event = malloc(1);
}

static int32_t upload(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                      const void* from, size_t bytes, intarsia_plugin_event* event,
                      const intarsia_plugin_message* message) {
  (void)device;
  memcpy(address_of(to) + to_offset, from, bytes);
  begin(event);
  return status_of("upload", message);
}

static int32_t download(intarsia_plugin_device device, void* to, intarsia_plugin_memory from,
                        size_t from_offset, size_t bytes, intarsia_plugin_event* event,
                        const intarsia_plugin_message* message) {
  (void)device;
  memcpy(to, address_of(from) + from_offset, bytes);
  begin(event);
  return status_of("download", message);
}

static int32_t move(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                    intarsia_plugin_memory from, size_t from_offset, size_t bytes,
                    intarsia_plugin_event* event, const intarsia_plugin_message* message) {
  (void)device;
  memmove(address_of(to) + to_offset, address_of(from) + from_offset, bytes);
  begin(event);
  return status_of("move", message);
}

static int32_t wait_for(intarsia_plugin_device device, intarsia_plugin_event event,
                        const intarsia_plugin_message* message) {
  (void)device, (void)event;
  return status_of("wait", message);
}

static void release_event(intarsia_plugin_device device, intarsia_plugin_event event) {
  (void)device;
  free(event);
}

static int32_t load(intarsia_plugin_device device, const intarsia_plugin_load* request,
                    intarsia_plugin_executable* executable, const intarsia_plugin_message* message) {
  (void)device;
  if (request->blob_bytes != 4 || memcmp(request->blob, "copy", 4) != 0 || request->constant_count != 1 ||
      ((const float*)address_of(request->constants[0]->memory))[1] != 2)
    return INTARSIA_PLUGIN_FAILED;
  if (status_of("load", message) != INTARSIA_PLUGIN_OK) return INTARSIA_PLUGIN_FAILED;
  if (!has_fault("load", "null")) *executable = malloc(1);
  return INTARSIA_PLUGIN_OK;
}

static void unload(intarsia_plugin_device device, intarsia_plugin_executable executable) {
  (void)device;
  note("u");
  free(executable);
}

static size_t bytes_of(const intarsia_plugin_buffer* buffer) {
  size_t bytes = sizeof(float);
  int32_t axis;
  for (axis = 0; axis < buffer->rank; ++axis) bytes *= (size_t)buffer->sizes[axis];
  return bytes;
}

static int32_t run(intarsia_plugin_device device, intarsia_plugin_executable executable,
                   const intarsia_plugin_run* request, intarsia_plugin_event* event,
                   const intarsia_plugin_message* message) {
  const intarsia_plugin_buffer *x = request->inputs[0], *y = request->outputs[0];
  (void)device, (void)executable;
  memcpy(address_of(y->memory) + y->offset, address_of(x->memory) + x->offset, bytes_of(y));
  address_of(request->workspace)[request->workspace_offset + 99] = 1;
  if (request->report != NULL) request->report(request->user, "copy", 1, 2);
  begin(event);
  return status_of("run", message);
}

static int32_t shapes(intarsia_plugin_device device, intarsia_plugin_executable executable,
                      const intarsia_plugin_buffer* const* inputs, size_t input_count,
                      intarsia_plugin_buffer* const* outputs, size_t output_count,
                      const intarsia_plugin_message* message) {
  (void)device, (void)executable;
  if (input_count != 1 || output_count != 1) return INTARSIA_PLUGIN_FAILED;
  outputs[0]->dtype = has_fault("shapes", "null") ? 0 : inputs[0]->dtype;
  outputs[0]->rank = inputs[0]->rank;
  memcpy(outputs[0]->sizes, inputs[0]->sizes, sizeof(outputs[0]->sizes));
  if (has_fault("shapes", "wrong")) outputs[0]->sizes[0] += 1;
  return status_of("shapes", message);
}

static int32_t copy_from(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                         intarsia_plugin_device other, intarsia_plugin_memory from, size_t from_offset,
                         size_t bytes, intarsia_plugin_event* event, const intarsia_plugin_message* message) {
  if (device == other) return INTARSIA_PLUGIN_FAILED;
  memcpy(address_of(to) + to_offset, address_of(from) + from_offset, bytes);
  begin(event);
  return status_of("copy_from", message);
}

static int32_t allocate_staging(intarsia_plugin_device device, size_t bytes, void** memory,
                                const intarsia_plugin_message* message) {
  (void)device;
  if (!has_fault("allocate_staging", "null")) *memory = malloc(bytes);
  return status_of("allocate_staging", message);
}

static void free_staging(intarsia_plugin_device device, void* memory) {
  (void)device;
  note("s");
  free(memory);
}

/* A runtime of a later header: it has a field that this one lacks. */
typedef struct later_runtime {
  intarsia_plugin_runtime runtime;
  int32_t (*later)(void);
} later_runtime;

static later_runtime runtime = {{sizeof(intarsia_plugin_runtime),
                                 0,
                                 device_count,
                                 NULL,
                                 open_device,
                                 close_device,
                                 allocate,
                                 free_memory,
                                 upload,
                                 download,
                                 move,
                                 wait_for,
                                 release_event,
                                 load,
                                 unload,
                                 run,
                                 shapes,
                                 copy_from,
                                 allocate_staging,
                                 free_staging},
                                later};

static intarsia_plugin plugin = {sizeof(intarsia_plugin), PLUGIN_ABI,         PLUGIN_NAME,
                                 PLUGIN_VERSION,          &compiler.compiler, &runtime.runtime};

#ifdef WITHOUT_ENTRY
__attribute__((visibility("default"))) const intarsia_plugin* another_entry(void) { return &plugin; }
#else
const intarsia_plugin* intarsia_plugin_entry(void) {
#ifdef OLDER /* its header ends with what is required, and the bytes after its struct are not a field */
  runtime.runtime.struct_size = offsetof(intarsia_plugin_runtime, shapes);
  compiler.compiler.struct_size = offsetof(intarsia_plugin_compiler, cost);
#endif
#ifdef NEWER
  runtime.runtime.struct_size = sizeof(later_runtime);
  compiler.compiler.struct_size = sizeof(later_compiler);
#endif
#ifdef TOO_SHORT
  runtime.runtime.struct_size = 64;
#endif
#ifdef WITHOUT_RUN
  runtime.runtime.run = NULL;
#endif
#ifdef WRONG_COPY_TIME
  compiler.compiler.copy_latency_ns = -1;
#endif
#ifdef RUNS_ONLY
  plugin.compiler = NULL;
#endif
#ifdef GIVES_NULL
  plugin.name = NULL;
  return NULL;
#else
  return &plugin;
#endif
}
#endif
