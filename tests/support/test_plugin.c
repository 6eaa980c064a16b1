/* Plug-in for tests: it copies its first input to its first output. It is compiled in several variants
 * (tests/CMakeLists.txt). Environment variables change what it does:
 * TEST_PLUGIN_FAULT makes a call fail: "upload error", "allocate null", "run silent" (an error without a
 * message), "wait error", "shapes wrong", "compile null", "run lost" (the device is), "run memory" (there is
 * none). Where TEST_PLUGIN_FAULT_DEVICE is a number, some calls fail only for that device.
 * TEST_PLUGIN_REFUSES names a node with which no region compiles; TEST_PLUGIN_MOST_NODES limits the nodes
 * of a region. TEST_PLUGIN_LAYOUTS reverses the axes of values between its regions ("reverse") or orders
 * them wrongly ("wrong"). TEST_PLUGIN_QUEUES is the number of regions that a device runs at once. */
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

/* Log of releases, in order: "u" an executable, "f" memory, "s" staging memory, "c" a device. */
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
  int32_t status = INTARSIA_PLUGIN_OK;
  if (has_fault(call, "silent")) return INTARSIA_PLUGIN_FAILED;
  if (has_fault(call, "error")) status = INTARSIA_PLUGIN_FAILED;
  if (has_fault(call, "lost")) status = INTARSIA_PLUGIN_DEVICE_LOST;
  if (has_fault(call, "memory")) status = INTARSIA_PLUGIN_OUT_OF_MEMORY;
  if (has_fault(call, "unsupported")) status = INTARSIA_PLUGIN_UNSUPPORTED;
  if (status != INTARSIA_PLUGIN_OK) snprintf(message->text, message->size, "a declared fault");
  return status;
}

static int32_t status_on(size_t device, const char* call, const intarsia_plugin_message* message) {
  const char* only = getenv("TEST_PLUGIN_FAULT_DEVICE");
  if (only != NULL && (size_t)atoll(only) != device) return INTARSIA_PLUGIN_OK;
  return status_of(call, message);
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

static int32_t refuse(const intarsia_plugin_graph* region, const intarsia_plugin_message* message) {
  const char *refused = getenv("TEST_PLUGIN_REFUSES"), *most = getenv("TEST_PLUGIN_MOST_NODES");
  size_t number;
  if (most != NULL && region->node_count > (size_t)atoll(most)) {
    snprintf(message->text, message->size, "no room for %d nodes", (int)region->node_count);
    return INTARSIA_PLUGIN_OUT_OF_MEMORY;
  }
  for (number = 0; refused != NULL && number < region->node_count; ++number) {
    intarsia_plugin_node node;
    memset(&node, 0, sizeof(node));
    node.struct_size = sizeof(node);
    if (region->node(region, number, &node) != INTARSIA_PLUGIN_OK || strcmp(node.name, refused) != 0)
      continue;
    snprintf(message->text, message->size, "no %s of this kind", node.op);
    return INTARSIA_PLUGIN_UNSUPPORTED;
  }
  return INTARSIA_PLUGIN_OK;
}

static int has_op(const intarsia_plugin_graph* region, const char* op) {
  size_t number;
  for (number = 0; number < region->node_count; ++number) {
    intarsia_plugin_node node;
    memset(&node, 0, sizeof(node));
    node.struct_size = sizeof(node);
    if (region->node(region, number, &node) == INTARSIA_PLUGIN_OK && strcmp(node.op, op) == 0) return 1;
  }
  return 0;
}

static int32_t compile(const intarsia_plugin_graph* region, const intarsia_plugin_compile_options* options,
                       intarsia_plugin_compiled* compiled, const intarsia_plugin_message* message) {
  const float constant[2] = {1, 2};
  const int64_t size = 2;
  const int32_t refusal = refuse(region, message);
  /* Simulates a slow compiler, which goes on until the user gives up. */
  while (getenv("TEST_PLUGIN_WAITS") != NULL) {
    static double part;
    options->show_progress(options->host, part = part < 0.5 ? part + 0.01 : part);
    if (options->is_cancelled(options->host)) {
      snprintf(message->text, message->size, "given up");
      return INTARSIA_PLUGIN_FAILED;
    }
  }
  if (refusal != INTARSIA_PLUGIN_OK) return refusal;
  compiled->workspace_bytes = 100;
  if (compiled->add_constant(compiled, constant, 1, 1, &size) != INTARSIA_PLUGIN_OK)
    return INTARSIA_PLUGIN_FAILED;
  if (!has_fault("compile", "null"))
    compiled->set_blob(compiled, has_op(region, "Transpose") ? "flip" : "copy", 4);
  return status_of("compile", message);
}

/* Gives every node the cost TEST_PLUGIN_COST, in nanoseconds. */
static int32_t cost(const intarsia_plugin_graph* region, size_t node, const char* device,
                    int64_t* nanoseconds, const intarsia_plugin_message* message) {
  const char* text = getenv("TEST_PLUGIN_COST");
  (void)region, (void)node, (void)device;
  *nanoseconds = text == NULL ? 1000 : atoll(text);
  return status_of("cost", message);
}

/* Puts all Relu into one group. */
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

static int32_t layouts(const intarsia_plugin_graph* region, size_t* const* orders,
                       const intarsia_plugin_message* message) {
  const char* which = getenv("TEST_PLUGIN_LAYOUTS");
  size_t output, axis;
  for (output = 0; which != NULL && output < region->output_count; ++output) {
    intarsia_plugin_value value;
    memset(&value, 0, sizeof(value));
    value.struct_size = sizeof(value);
    region->value(region, region->outputs[output], &value);
    for (axis = 0; axis < (size_t)value.rank; ++axis)
      orders[output][axis] = strcmp(which, "wrong") == 0 ? 7 : (size_t)value.rank - 1 - axis;
  }
  return status_of("layouts", message);
}

/* Compiler of a later header: it has a field that this one lacks. */
typedef struct later_compiler {
  intarsia_plugin_compiler compiler;
  int32_t (*later)(void);
} later_compiler;

static int32_t later(void) { abort(); }

static later_compiler compiler = {
    {sizeof(intarsia_plugin_compiler), 0, supports, compile, cost, 5000, 0.5, groups, layouts}, later};

/* ---- Running ---- */

static size_t device_count(void) { return 2; }

static int32_t open_device(size_t number, intarsia_plugin_device* device,
                           const intarsia_plugin_message* message) {
  if (!has_fault("open_device", "null")) {
    *device = malloc(sizeof(size_t));
    *(size_t*)*device = number;
  }
  if (status_on(number, "open_device", message) == INTARSIA_PLUGIN_OK) return INTARSIA_PLUGIN_OK;
  free(*device);
  return INTARSIA_PLUGIN_DEVICE_LOST;
}

static void close_device(intarsia_plugin_device device) {
  note("c");
  free(device);
}

/* Handles are addresses with all bits inverted; in unified memory they are the addresses. */
#ifdef UNIFIED
static char* address_of(intarsia_plugin_memory memory) { return (char*)memory; }
#else
static char* address_of(intarsia_plugin_memory memory) { return (char*)~(uintptr_t)memory; }
#endif

/* PAGES requires that everything lies at the start of pages. */
#ifdef PAGES
#define ALIGNMENT 4096
#else
#define ALIGNMENT 0
#endif
static int is_aligned(size_t offset) { return ALIGNMENT == 0 || offset % 4096 == 0; }

static int32_t allocate(intarsia_plugin_device device, size_t bytes, intarsia_plugin_memory* memory,
                        const intarsia_plugin_message* message) {
  if (status_on(*(size_t*)device, "allocate", message) != INTARSIA_PLUGIN_OK)
    return INTARSIA_PLUGIN_OUT_OF_MEMORY;
  if (!has_fault("allocate", "null")) *memory = (intarsia_plugin_memory) ~(uintptr_t)calloc(bytes, 1);
  return INTARSIA_PLUGIN_OK;
}

static void free_memory(intarsia_plugin_device device, intarsia_plugin_memory memory) {
  (void)device;
  note("f");
  free(address_of(memory));
}

/* Makes an event for every second piece of work. */
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
  const int is_flip = request->blob_bytes == 4 && memcmp(request->blob, "flip", 4) == 0;
  if (request->blob_bytes != 4 || (!is_flip && memcmp(request->blob, "copy", 4) != 0) ||
      request->constant_count != 1 || ((const float*)address_of(request->constants[0]->memory))[1] != 2)
    return INTARSIA_PLUGIN_FAILED;
  if (status_on(*(size_t*)device, "load", message) != INTARSIA_PLUGIN_OK) return INTARSIA_PLUGIN_FAILED;
  if (has_fault("load", "null")) return INTARSIA_PLUGIN_OK;
  *executable = malloc(sizeof(int));
  *(int*)*executable = is_flip;
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
  (void)executable;
  if (!is_aligned(x->offset) || !is_aligned(y->offset) || !is_aligned(request->workspace_offset)) {
    snprintf(message->text, message->size, "not at the beginning of a page");
    return INTARSIA_PLUGIN_FAILED;
  }
  memcpy(address_of(y->memory) + y->offset, address_of(x->memory) + x->offset, bytes_of(y));
  address_of(request->workspace)[request->workspace_offset + 99] = 1;
  if (request->report != NULL) request->report(request->user, "copy", 1, 2);
  begin(event);
  return status_on(*(size_t*)device, "run", message);
}

static int32_t shapes(intarsia_plugin_device device, intarsia_plugin_executable executable,
                      const intarsia_plugin_buffer* const* inputs, size_t input_count,
                      intarsia_plugin_buffer* const* outputs, size_t output_count,
                      const intarsia_plugin_message* message) {
  int32_t axis;
  (void)device;
  if (input_count != 1 || output_count != 1) return INTARSIA_PLUGIN_FAILED;
  outputs[0]->dtype = has_fault("shapes", "null") ? 0 : inputs[0]->dtype;
  outputs[0]->rank = inputs[0]->rank;
  memcpy(outputs[0]->sizes, inputs[0]->sizes, sizeof(outputs[0]->sizes));
  for (axis = 0; *(int*)executable && axis < inputs[0]->rank; ++axis)
    outputs[0]->sizes[axis] = inputs[0]->sizes[inputs[0]->rank - 1 - axis];
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

static uint64_t memory_bytes(size_t number) {
  const char* text = getenv("TEST_PLUGIN_MEMORY");
  (void)number;
  return text == NULL ? 0 : (uint64_t)atoll(text);
}

static const intarsia_plugin_option power = {sizeof(intarsia_plugin_option), "power", "low or high"};
static const intarsia_plugin_option* const options[] = {&power};

static int32_t open_device_with(size_t number, const intarsia_plugin_setting* const* settings,
                                size_t setting_count, intarsia_plugin_device* device,
                                const intarsia_plugin_message* message) {
  const char* value = settings[0]->value;
  if (setting_count == 1 && (strcmp(value, "low") == 0 || strcmp(value, "high") == 0))
    return open_device(number, device, message);
  snprintf(message->text, message->size, "power is '%s', want low or high", value);
  return INTARSIA_PLUGIN_FAILED;
}

/* Describes a device in two lines, with a sequence that makes a terminal write red. */
static const char* describe_device(size_t number) {
  (void)number;
  return "a device\nfor \x1b[31mtests";
}

/* Runtime of a later header: it has a field that this one lacks. */
typedef struct later_runtime {
  intarsia_plugin_runtime runtime;
  int32_t (*later)(void);
} later_runtime;

static later_runtime runtime = {{sizeof(intarsia_plugin_runtime),
                                 ALIGNMENT,
                                 device_count,
                                 describe_device,
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
                                 free_staging,
                                 memory_bytes,
                                 0,
                                 1,
                                 options,
                                 open_device_with,
                                 1},
                                later};

static intarsia_plugin plugin = {sizeof(intarsia_plugin), PLUGIN_ABI,         PLUGIN_NAME,
                                 PLUGIN_VERSION,          &compiler.compiler, &runtime.runtime};

#ifdef WITHOUT_ENTRY
__attribute__((visibility("default"))) const intarsia_plugin* another_entry(void) { return &plugin; }
#else
const intarsia_plugin* intarsia_plugin_entry(void) {
  if (getenv("TEST_PLUGIN_QUEUES") != NULL)
    runtime.runtime.compute_queues = (uint32_t)atoll(getenv("TEST_PLUGIN_QUEUES"));
#ifdef OLDER /* its header ends with the required fields; the bytes after its struct are not a field */
  runtime.runtime.struct_size = offsetof(intarsia_plugin_runtime, shapes);
  compiler.compiler.struct_size = offsetof(intarsia_plugin_compiler, cost);
#endif
#ifdef UNIFIED
  runtime.runtime.unified_memory = 1;
  runtime.runtime.allocate = NULL;
  runtime.runtime.free_memory = NULL;
  runtime.runtime.upload = NULL;
  runtime.runtime.download = NULL;
  runtime.runtime.move = NULL;
#endif
#ifdef OPEN_SIZES
  compiler.compiler.takes_open_sizes = 1;
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
