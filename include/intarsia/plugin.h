/* A device of your own: what a plug-in library exports. docs/adding_a_device.md leads through it, and
 * examples/07_your_own_device is a whole one.
 *
 * A plug-in has two halves. The compiler says which nodes its devices can run and turns regions of a model
 * into blobs; the runtime allocates memory of a device, copies, loads blobs and runs them. Intarsia calls
 * both, never the other way round, but for the functions in the structs that a call gets.
 *
 * Rules that hold for every call:
 *  - Structs begin with `struct_size`: sizeof of the struct as the header of whoever fills it in knows it.
 *    Later versions add fields only at the end. A field beyond the struct_size of a plug-in's struct is taken
 *    to be 0; fields beyond what Intarsia knows are not read. So older and newer plug-ins work as long as
 *    INTARSIA_PLUGIN_ABI is the same, and a plug-in that wants to run in an older Intarsia compares the
 *    struct_size of what it gets before it reads a newer field.
 *  - A function that can fail returns INTARSIA_PLUGIN_OK or another status after writing a message: one line,
 *    what failed and what to do. Intarsia adds the plug-in's name and version, the call, the device and, for
 *    a region, which it is.
 *  - Pointers given to a call are valid until it returns, unless said otherwise, and belong to the caller.
 *  - All calls may come from several threads at once. No exception may leave a call.
 *  - Element types are the numbers of ONNX TensorProto.DataType (float 1, int64 7). Tensors are dense and
 *    row-major. */
#ifndef INTARSIA_PLUGIN_H
#define INTARSIA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when the meaning of what is here changes; then plug-ins must be built again. */
#define INTARSIA_PLUGIN_ABI 1
#define INTARSIA_PLUGIN_MAX_RANK 16
/* In place of a number of a value or node: there is none. */
#define INTARSIA_PLUGIN_NONE ((size_t)-1)

enum {
  INTARSIA_PLUGIN_OK = 0,
  INTARSIA_PLUGIN_FAILED = 1,        /* whatever has no number of its own */
  INTARSIA_PLUGIN_UNSUPPORTED = 2,   /* valid, but this device or version cannot do it */
  INTARSIA_PLUGIN_OUT_OF_MEMORY = 3, /* of the device, or of the host */
  INTARSIA_PLUGIN_DEVICE_LOST = 4    /* it worked before */
};

/* Where a call says why it failed: up to `size` bytes, zero-terminated. */
typedef struct intarsia_plugin_message {
  size_t struct_size;
  char* text;
  size_t size;
} intarsia_plugin_message;

/* ---- The compile half ---- */

/* A value of a graph. Everything lives as long as the graph. */
typedef struct intarsia_plugin_value {
  size_t struct_size;
  const char* name;
  int32_t dtype;        /* 0: it is not a tensor */
  int32_t rank;         /* -1: not known */
  const int64_t* sizes; /* rank numbers; -1: open, which a plug-in gets only with takes_open_sizes */
  /* rank texts: "224"; of an open size an expression over named sizes ("batch", "2*n+1", "max(n-1,0)"), or
   * "?": it depends on data. */
  const char* const* size_texts;
  const void* data; /* of a constant, else NULL; at any alignment */
  size_t bytes;     /* of data */
  size_t producer;  /* number of the node that makes it, or INTARSIA_PLUGIN_NONE */
} intarsia_plugin_value;

typedef struct intarsia_plugin_node {
  size_t struct_size;
  const char* name;   /* "conv1"; "" where the user has names left out */
  const char* op;     /* "Conv" */
  const char* domain; /* "" is ai.onnx */
  int32_t version;    /* opset version of the domain */
  size_t input_count; /* numbers of values, INTARSIA_PLUGIN_NONE for what is omitted */
  const size_t* inputs;
  size_t output_count; /* the same */
  const size_t* outputs;
  size_t attribute_count;
} intarsia_plugin_node;

/* `count` elements in the list of its kind; single values are lists of one. Attributes of other kinds
 * (tensors, graphs) have no list here; they are in the ONNX model of the graph. */
typedef struct intarsia_plugin_attribute {
  size_t struct_size;
  const char* name;
  size_t count;
  const int64_t* ints;        /* INT and INTS, else NULL */
  const float* floats;        /* FLOAT and FLOATS, else NULL */
  const char* const* strings; /* STRING and STRINGS, zero-terminated, else NULL */
} intarsia_plugin_attribute;

/* A graph: a whole model in `supports`, a region in `compile`. Nodes are in an order of their dependencies.
 * Its functions take the graph itself and fill in a struct whose struct_size the plug-in has set; they
 * return INTARSIA_PLUGIN_FAILED where there is no such node, attribute or value. They are for the thread of
 * the call that got the graph. */
typedef struct intarsia_plugin_graph {
  size_t struct_size;
  void* host; /* Intarsia's */
  size_t node_count;
  size_t input_count; /* numbers of values, in the order in which a run gets them; no constants */
  const size_t* inputs;
  size_t output_count;
  const size_t* outputs;
  int32_t (*node)(const struct intarsia_plugin_graph* graph, size_t node, intarsia_plugin_node* to);
  int32_t (*attribute)(const struct intarsia_plugin_graph* graph, size_t node, size_t attribute,
                       intarsia_plugin_attribute* to);
  int32_t (*value)(const struct intarsia_plugin_graph* graph, size_t value, intarsia_plugin_value* to);
  /* The graph as a serialized ONNX ModelProto, which lives as long as the graph. Constants of 64 KiB and
   * more are declared as external data; their bytes are those of the value of that name. */
  int32_t (*onnx)(const struct intarsia_plugin_graph* graph, const void** bytes, size_t* size,
                  const intarsia_plugin_message* message);
} intarsia_plugin_graph;

typedef struct intarsia_plugin_compile_options {
  size_t struct_size;
  const char* device; /* that the region is to run on: "toy_npu:0", on the compiling machine or not */
  int32_t exact_math; /* not 0: direct arithmetic only; else errors up to 1e-4 of the largest output */
  int32_t keep_names; /* 0: the blob must not reveal names of the model */
} intarsia_plugin_compile_options;

/* What a region becomes. The functions take the struct itself and copy what they are given. */
typedef struct intarsia_plugin_compiled {
  size_t struct_size;
  void* host; /* Intarsia's */
  /* Must be called once. The blob is stored in the program, protected against damage by a digest, and given
   * to the runtime's `load`: it begins with whatever tells the plug-in which of its versions wrote it. */
  int32_t (*set_blob)(struct intarsia_plugin_compiled* compiled, const void* bytes, size_t size);
  /* A tensor that `load` and the runs of it find in the device's memory, in the order of these calls. Equal
   * ones are stored once in a program, and are copied to a device once. */
  int32_t (*add_constant)(struct intarsia_plugin_compiled* compiled, const void* data, int32_t dtype,
                          int32_t rank, const int64_t* sizes);
  size_t workspace_bytes; /* the plug-in sets it: memory of the device that a run needs for itself */
} intarsia_plugin_compiled;

typedef struct intarsia_plugin_compiler {
  size_t struct_size;
  /* Not 0: its regions run with any sizes in place of open ones, and the runtime has `shapes`. 0: nodes with
   * open sizes are not offered. */
  int32_t takes_open_sizes;
  /* Can a region of the device (its name) hold this node of the graph? 1: yes. 0: no, and the message says
   * why. It must be the truth: regions of any supported nodes must compile. Nodes with strings, subgraphs or
   * values that are not tensors are not offered. */
  int32_t (*supports)(const intarsia_plugin_graph* graph, size_t node, const char* device,
                      const intarsia_plugin_message* why_not);
  int32_t (*compile)(const intarsia_plugin_graph* region, const intarsia_plugin_compile_options* options,
                     intarsia_plugin_compiled* compiled, const intarsia_plugin_message* message);

  /* (optional) Nanoseconds, 0 or more, that the node takes as a part of the region. Where the compiling
   * machine has the device they are not used: times are measured. Where it has not, plans are timed with a
   * device in its place that takes so long, computes nothing, and copies at the speed below. */
  int32_t (*cost)(const intarsia_plugin_graph* region, size_t node, const char* device, int64_t* nanoseconds,
                  const intarsia_plugin_message* message);
  double copy_latency_ns;  /* with `cost`: of a copy between the host and the device */
  double copy_ns_per_byte; /* with `cost`: and of each byte of it */
  /* (optional) Which nodes belong together: sets `group_of[node]` for each node of the graph, to the same
   * number for nodes of one group; those that it leaves at INTARSIA_PLUGIN_NONE have none. Where the planner
   * moves work between devices by what it costs, the nodes of a group, and those between them, move as one.
   * What is between them must be supported, too, or the group does not hold. */
  int32_t (*groups)(const intarsia_plugin_graph* graph, const char* device, size_t* group_of,
                    const intarsia_plugin_message* message);
} intarsia_plugin_compiler;

/* ---- The run half ---- */

/* What a device's memory is known by, an open device, a loaded region, an unfinished piece of work. Never
 * NULL where there is one. They need not be addresses: Intarsia only hands them back. */
typedef void* intarsia_plugin_memory;
typedef void* intarsia_plugin_device;
typedef void* intarsia_plugin_executable;
typedef void* intarsia_plugin_event;

/* A tensor in a device's memory: its bytes begin at `offset`. */
typedef struct intarsia_plugin_buffer {
  size_t struct_size;
  intarsia_plugin_memory memory;
  size_t offset; /* bytes, a multiple of the runtime's alignment in most cases, of the element size always */
  int32_t dtype;
  int32_t rank;
  int64_t sizes[INTARSIA_PLUGIN_MAX_RANK];
} intarsia_plugin_buffer;

typedef struct intarsia_plugin_load {
  size_t struct_size;
  const void* blob; /* from a file: any bytes must end in an executable or an error */
  size_t blob_bytes;
  size_t constant_count; /* in the order of add_constant; they stay where they are until `unload` */
  const intarsia_plugin_buffer* const* constants;
  size_t workspace_bytes; /* that runs will get */
} intarsia_plugin_load;

/* Everything lives until the run is done: until `run` returns without an event, or its event was waited
 * for. */
typedef struct intarsia_plugin_run {
  size_t struct_size;
  size_t input_count; /* in the order of the region's inputs; only read */
  const intarsia_plugin_buffer* const* inputs;
  size_t output_count; /* in the order of the region's outputs; their dtypes and shapes are set */
  const intarsia_plugin_buffer* const* outputs;
  intarsia_plugin_memory workspace; /* NULL if none was asked for */
  size_t workspace_offset;
  /* For profiles, NULL otherwise: reports what ran, one call a kernel, before the run is done. `name` is
   * that of a node, with what it computed: "conv1: Conv Relu". Times are nanoseconds of CLOCK_MONOTONIC. */
  void (*report)(void* user, const char* name, int64_t begin_ns, int64_t end_ns);
  void* user;
} intarsia_plugin_run;

/* Functions with an `event` may return before their work is done: they set it, and the host calls `wait`,
 * then `release_event`. Where they leave it NULL the work is done. Intarsia waits right after each call, in a
 * thread that it has for the device where devices work at the same time: two copies and a run may so be under
 * way at once, from three threads. Work on one memory is ordered by these waits. */
typedef struct intarsia_plugin_runtime {
  size_t struct_size;
  size_t alignment; /* of values in a device's memory: a power of 2 of at most 64 bytes; 0: 64 */
  /* Devices are numbered from 0: NAME:0, NAME:1, ... Asked whenever devices are listed or opened. */
  size_t (*device_count)(void);
  /* (optional) One line for people, which lives as long as the library. */
  const char* (*describe_device)(size_t number);
  /* The same device may be opened several times, each with memory of its own. */
  int32_t (*open_device)(size_t number, intarsia_plugin_device* device,
                         const intarsia_plugin_message* message);
  /* After everything of it was unloaded and freed. */
  void (*close_device)(intarsia_plugin_device device);

  /* Zero-filled memory, not below 1 byte. */
  int32_t (*allocate)(intarsia_plugin_device device, size_t bytes, intarsia_plugin_memory* memory,
                      const intarsia_plugin_message* message);
  void (*free_memory)(intarsia_plugin_device device, intarsia_plugin_memory memory);
  /* From and to the host's memory, which stays until the work is done. */
  int32_t (*upload)(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                    const void* from, size_t bytes, intarsia_plugin_event* event,
                    const intarsia_plugin_message* message);
  int32_t (*download)(intarsia_plugin_device device, void* to, intarsia_plugin_memory from,
                      size_t from_offset, size_t bytes, intarsia_plugin_event* event,
                      const intarsia_plugin_message* message);
  /* Within the device; the ranges may overlap. */
  int32_t (*move)(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                  intarsia_plugin_memory from, size_t from_offset, size_t bytes, intarsia_plugin_event* event,
                  const intarsia_plugin_message* message);

  /* Blocks until the work is done. Not OK: the work failed. */
  int32_t (*wait)(intarsia_plugin_device device, intarsia_plugin_event event,
                  const intarsia_plugin_message* message);
  void (*release_event)(intarsia_plugin_device device, intarsia_plugin_event event);

  int32_t (*load)(intarsia_plugin_device device, const intarsia_plugin_load* load,
                  intarsia_plugin_executable* executable, const intarsia_plugin_message* message);
  void (*unload)(intarsia_plugin_device device, intarsia_plugin_executable executable);
  int32_t (*run)(intarsia_plugin_device device, intarsia_plugin_executable executable,
                 const intarsia_plugin_run* run, intarsia_plugin_event* event,
                 const intarsia_plugin_message* message);

  /* (optional) Sets dtype, rank and sizes of the outputs from those of the inputs; called before each run,
   * without memory in the buffers. What differs from the plan's types is an error. Needed for open sizes. */
  int32_t (*shapes)(intarsia_plugin_device device, intarsia_plugin_executable executable,
                    const intarsia_plugin_buffer* const* inputs, size_t input_count,
                    intarsia_plugin_buffer* const* outputs, size_t output_count,
                    const intarsia_plugin_message* message);
  /* (optional) From the memory of another open device of this plug-in, not by way of the host. */
  int32_t (*copy_from)(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                       intarsia_plugin_device other, intarsia_plugin_memory from, size_t from_offset,
                       size_t bytes, intarsia_plugin_event* event, const intarsia_plugin_message* message);
  /* (optional, both or none) Memory of the host from which and to which the device copies faster. */
  int32_t (*allocate_staging)(intarsia_plugin_device device, size_t bytes, void** memory,
                              const intarsia_plugin_message* message);
  void (*free_staging)(intarsia_plugin_device device, void* memory);
} intarsia_plugin_runtime;

/* ---- The plug-in ---- */

typedef struct intarsia_plugin {
  size_t struct_size;
  int32_t abi; /* INTARSIA_PLUGIN_ABI */
  /* Of the plug-in, of its backend (toy_npu@accel) and the kind of its devices (toy_npu:0): a lowercase
   * letter, then lowercase letters, digits and underscores, at most 31; not the name of a backend or kind of
   * device of Intarsia's. */
  const char* name;
  /* "1.4.2", one line. What is before the first dot counts: a program runs where the plug-in has the same
   * number there as when it was compiled. Times that were measured count for the whole version only. */
  const char* version;
  const intarsia_plugin_compiler* compiler; /* NULL: of a library that only runs programs */
  const intarsia_plugin_runtime* runtime;
} intarsia_plugin;

/* The only function that the library exports. What it returns, and the structs in it, live as long as the
 * process: the library is never closed. NULL: it cannot work here. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const intarsia_plugin* intarsia_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif
