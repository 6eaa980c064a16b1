/* A device of your own: the interface that a plug-in library exports. docs/adding_a_device.md is a guide, and
 * examples/07_your_own_device a complete plug-in.
 *
 * A plug-in has two halves. The compiler says which nodes its devices can run and turns regions of a model
 * into blobs; the runtime allocates memory of a device, copies, loads blobs and runs them. Intarsia calls
 * both; a plug-in calls only the functions in the structs that a call gets.
 *
 * Rules for every call:
 *  - Structs start with `struct_size`: sizeof of the struct as declared in the header of the side that fills
 *    it in. Later versions add fields only at the end. A field beyond the struct_size of a plug-in's struct
 *    is taken as 0; fields that Intarsia does not know are not read. So older and newer plug-ins work while
 *    INTARSIA_PLUGIN_ABI is the same, and a plug-in that wants to run in an older Intarsia checks the
 *    struct_size of what it gets before it reads a newer field.
 *  - A function that can fail returns INTARSIA_PLUGIN_OK, or another status after writing a message: one
 *    line, what failed and what to do. Intarsia adds the plug-in's name and version, the call, the device
 *    and, for a region, which one it is.
 *  - Pointers passed to a call are valid until it returns, unless stated otherwise, and belong to the caller.
 *  - Several threads may make all calls at once. Exceptions must not leave a call.
 *  - Element types are the numbers of ONNX TensorProto.DataType (float 1, int64 7). Tensors are dense and
 *    row-major. */
#ifndef INTARSIA_PLUGIN_H
#define INTARSIA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface, raised when its meaning changes; plug-ins must then be rebuilt. */
#define INTARSIA_PLUGIN_ABI 1
#define INTARSIA_PLUGIN_MAX_RANK 16
/* Number that stands for a missing value or node. */
#define INTARSIA_PLUGIN_NONE ((size_t)-1)

enum {
  INTARSIA_PLUGIN_OK = 0,
  INTARSIA_PLUGIN_FAILED = 1,        /* any failure without its own number */
  INTARSIA_PLUGIN_UNSUPPORTED = 2,   /* valid request that this device or version cannot serve */
  INTARSIA_PLUGIN_OUT_OF_MEMORY = 3, /* exhausted memory of the device or of the host */
  INTARSIA_PLUGIN_DEVICE_LOST = 4    /* device that failed after it had worked */
};

/* Buffer for the reason of a failed call: up to `size` bytes, zero-terminated. */
typedef struct intarsia_plugin_message {
  size_t struct_size;
  char* text;
  size_t size;
} intarsia_plugin_message;

/* ---- The compile half ---- */

/* Value of a graph. Everything in it lives as long as the graph. */
typedef struct intarsia_plugin_value {
  size_t struct_size;
  const char* name;
  int32_t dtype;        /* element type; 0 if it is not a tensor */
  int32_t rank;         /* -1 if not known */
  const int64_t* sizes; /* `rank` sizes; -1: open, which a plug-in gets only with takes_open_sizes */
  /* `rank` texts: "224"; for an open size an expression over named sizes ("batch", "2*n+1", "max(n-1,0)"), or
   * "?" if it depends on data. */
  const char* const* size_texts;
  const void* data; /* elements of a constant, at any alignment; else NULL */
  size_t bytes;     /* size of data */
  size_t producer;  /* number of the node that produces it, or INTARSIA_PLUGIN_NONE */
  /* Quantization of integers that stand for scale * (integer - zero point): one scale and zero point, or one
   * of each per index of an axis (negative: from the last). They come from the operators of the whole model
   * that produce and read the value, even where a region has none of these. Count 0: the value is not
   * quantized, or they are not constants. */
  size_t quantization_count;
  const float* scales;
  const int64_t* zero_points;
  int64_t quantization_axis;
} intarsia_plugin_value;

typedef struct intarsia_plugin_node {
  size_t struct_size;
  const char* name;   /* "conv1"; "" if the user has names left out */
  const char* op;     /* "Conv" */
  const char* domain; /* "" stands for ai.onnx */
  int32_t version;    /* opset version of the domain */
  size_t input_count; /* numbers of values, INTARSIA_PLUGIN_NONE for an omitted one */
  const size_t* inputs;
  size_t output_count; /* likewise */
  const size_t* outputs;
  size_t attribute_count;
} intarsia_plugin_node;

/* Attribute of a node: `count` elements in the list of its kind; single values are lists of one. Attributes
 * of other kinds (tensors, graphs) have no list here; they are in the ONNX model of the graph. */
typedef struct intarsia_plugin_attribute {
  size_t struct_size;
  const char* name;
  size_t count;
  const int64_t* ints;        /* INT and INTS, else NULL */
  const float* floats;        /* FLOAT and FLOATS, else NULL */
  const char* const* strings; /* STRING and STRINGS, zero-terminated, else NULL */
} intarsia_plugin_attribute;

/* Graph: a whole model in `supports`, a region in `compile`. Nodes are in topological order. The functions
 * take the graph itself and fill in a struct whose struct_size the plug-in has set; they return
 * INTARSIA_PLUGIN_FAILED if there is no such node, attribute or value. Only the thread of the call that got
 * the graph may call them. */
typedef struct intarsia_plugin_graph {
  size_t struct_size;
  void* host; /* reserved for Intarsia */
  size_t node_count;
  size_t input_count; /* numbers of values, in the order in which a run gets them, without constants */
  const size_t* inputs;
  size_t output_count;
  const size_t* outputs;
  int32_t (*node)(const struct intarsia_plugin_graph* graph, size_t node, intarsia_plugin_node* to);
  int32_t (*attribute)(const struct intarsia_plugin_graph* graph, size_t node, size_t attribute,
                       intarsia_plugin_attribute* to);
  int32_t (*value)(const struct intarsia_plugin_graph* graph, size_t value, intarsia_plugin_value* to);
  /* Returns the graph as a serialized ONNX ModelProto, which lives as long as the graph. Constants of 64 KiB
   * and more are declared as external data; their bytes are those of the value of that name. */
  int32_t (*onnx)(const struct intarsia_plugin_graph* graph, const void** bytes, size_t* size,
                  const intarsia_plugin_message* message);
} intarsia_plugin_graph;

typedef struct intarsia_plugin_compile_options {
  size_t struct_size;
  const char* device; /* device that the region will run on, "toy_npu:0"; may be absent from this machine */
  /* Whether (not 0) to use direct arithmetic only; else errors may reach 1e-4 of the largest output. */
  int32_t exact_math;
  int32_t keep_names; /* 0: the blob must not reveal names of the model */
  /* Argument of the functions below, for long compiles. Only the thread of the call may call them. */
  void* host;
  /* Returns not 0 if the user has cancelled. Ask now and then, and then return any status but OK. */
  int32_t (*is_cancelled)(void* host);
  /* Shows how much is done, from 0 to 1, on the user's progress bar. */
  void (*show_progress)(void* host, double part);
} intarsia_plugin_compile_options;

/* Result of compiling a region. The functions take the struct itself and copy what they are given. */
typedef struct intarsia_plugin_compiled {
  size_t struct_size;
  void* host; /* reserved for Intarsia */
  /* Sets the blob; must be called once. The blob is stored in the program, protected against damage by a
   * digest, and given to the runtime's `load`: start it with the version of the plug-in that wrote it. */
  int32_t (*set_blob)(struct intarsia_plugin_compiled* compiled, const void* bytes, size_t size);
  /* Adds a tensor that `load` and its runs find in the device's memory, in the order of these calls. Equal
   * tensors are stored once in a program, and copied to a device once. */
  int32_t (*add_constant)(struct intarsia_plugin_compiled* compiled, const void* data, int32_t dtype,
                          int32_t rank, const int64_t* sizes);
  size_t workspace_bytes; /* device memory that a run needs for itself; set by the plug-in */
} intarsia_plugin_compiled;

typedef struct intarsia_plugin_compiler {
  size_t struct_size;
  /* Whether (not 0) its regions run with any sizes in place of open ones, for which the runtime has `shapes`;
   * if 0, `supports` is not asked about nodes with open sizes. */
  int32_t takes_open_sizes;
  /* Checks whether a region of the device (its name) can hold this node of the graph. Returns 1 if so, else 0
   * after writing why not. Be as precise as possible: nodes that `compile` refuses later cost time. It is not
   * asked about nodes with strings, subgraphs or values that are not tensors. */
  int32_t (*supports)(const intarsia_plugin_graph* graph, size_t node, const char* device,
                      const intarsia_plugin_message* why_not);
  /* Compiles a region. Returns INTARSIA_PLUGIN_UNSUPPORTED or INTARSIA_PLUGIN_OUT_OF_MEMORY if the region is
   * not for this device, or too large: Intarsia then compiles parts of it to find the nodes at fault, or a
   * part that is small enough, and plans again without the rest. Any other error ends the compile. */
  int32_t (*compile)(const intarsia_plugin_graph* region, const intarsia_plugin_compile_options* options,
                     intarsia_plugin_compiled* compiled, const intarsia_plugin_message* message);

  /* (optional) Estimates the time that the node takes as a part of the region, 0 or more nanoseconds. If the
   * compiling machine has the device, times are measured instead. If not, plans are timed with a substitute
   * that takes this time, computes nothing, and copies at the speed below. */
  int32_t (*cost)(const intarsia_plugin_graph* region, size_t node, const char* device, int64_t* nanoseconds,
                  const intarsia_plugin_message* message);
  double copy_latency_ns;  /* time of a copy between the host and the device, with `cost` */
  double copy_ns_per_byte; /* additional time per byte, with `cost` */
  /* (optional) Groups nodes that belong together: sets `group_of[node]` for the nodes of the graph, to the
   * same number for nodes of one group; nodes left at INTARSIA_PLUGIN_NONE are in no group. When the planner
   * moves work between devices by cost, the nodes of a group, and those between them, move as one. The nodes
   * between them must be supported, too, or the group is ignored. */
  int32_t (*groups)(const intarsia_plugin_graph* graph, const char* device, size_t* group_of,
                    const intarsia_plugin_message* message);
  /* (optional) Chooses the layout of outputs that only regions of this plug-in exchange: `orders[output]`
   * lists the axes in memory order, the outermost first. It is initially as in the model (0, 1, 2, 3), and
   * the call may write another order (0, 2, 3, 1: channels last). The region that produces such a value then
   * ends with a Transpose of it, and regions that read it start with the inverse one, so that the meaning of
   * a region stays the same; a plug-in computes directly in that order instead. `supports` is not asked about
   * these nodes. Regions of several devices of the plug-in may exchange the value. */
  int32_t (*layouts)(const intarsia_plugin_graph* region, size_t* const* orders,
                     const intarsia_plugin_message* message);
} intarsia_plugin_compiler;

/* ---- The run half ---- */

/* Handles of a piece of device memory, an open device, a loaded region, and unfinished work. Never NULL if
 * there is one. They need not be addresses: Intarsia only hands them back. */
typedef void* intarsia_plugin_memory;
typedef void* intarsia_plugin_device;
typedef void* intarsia_plugin_executable;
typedef void* intarsia_plugin_event;

/* Tensor in a device's memory: its bytes start at `offset`. */
typedef struct intarsia_plugin_buffer {
  size_t struct_size;
  intarsia_plugin_memory memory;
  size_t offset; /* bytes; always a multiple of the element size, mostly of the runtime's alignment */
  int32_t dtype;
  int32_t rank;
  int64_t sizes[INTARSIA_PLUGIN_MAX_RANK];
} intarsia_plugin_buffer;

typedef struct intarsia_plugin_load {
  size_t struct_size;
  const void* blob; /* bytes from a file: whatever they are, `load` must give an executable or an error */
  size_t blob_bytes;
  size_t constant_count; /* constants in the order of add_constant; they stay in place until `unload` */
  const intarsia_plugin_buffer* const* constants;
  size_t workspace_bytes; /* workspace that runs will get */
} intarsia_plugin_load;

/* Arguments of a run. They live until the run is done: until `run` returns without an event, or its event was
 * waited for. */
typedef struct intarsia_plugin_run {
  size_t struct_size;
  size_t input_count; /* inputs in the region's order; only read */
  const intarsia_plugin_buffer* const* inputs;
  size_t output_count; /* outputs in the region's order; their dtypes and shapes are set */
  const intarsia_plugin_buffer* const* outputs;
  intarsia_plugin_memory workspace; /* NULL if none was asked for */
  size_t workspace_offset;
  /* Reports what ran, one call per kernel, before the run is done; NULL except for profiles. `name` is that
   * of a node, with what it computed: "conv1: Conv Relu". Times are nanoseconds of CLOCK_MONOTONIC. */
  void (*report)(void* user, const char* name, int64_t begin_ns, int64_t end_ns);
  void* user;
} intarsia_plugin_run;

/* Option of a device. */
typedef struct intarsia_plugin_option {
  size_t struct_size;
  const char* name;  /* "power"; same rules as for names of plug-ins */
  const char* about; /* line for people: "low or high, default high" */
} intarsia_plugin_option;

/* Setting of an option, as in "power=low"; without "=" the value is "". */
typedef struct intarsia_plugin_setting {
  size_t struct_size;
  const char* name;
  const char* value;
} intarsia_plugin_setting;

/* Runtime of a plug-in. Functions with an `event` may return before their work is done: they set it, and the
 * host calls `wait`, then `release_event`. If they leave it NULL, the work is done. Intarsia waits right
 * after each call, in a separate thread of the device where devices work at the same time: two copies and a
 * run may thus be in flight at once, from three threads. These waits order the work on one memory. */
typedef struct intarsia_plugin_runtime {
  size_t struct_size;
  size_t alignment; /* alignment of values in a device's memory: a power of 2, at most 4096 bytes; 0: 64 */
  /* Returns the number of devices, NAME:0, NAME:1, ... Asked whenever devices are listed or opened. */
  size_t (*device_count)(void);
  /* (optional) Returns one line for people, which lives as long as the library. */
  const char* (*describe_device)(size_t number);
  /* Opens a device, which may be opened several times, each time with its own memory. */
  int32_t (*open_device)(size_t number, intarsia_plugin_device* device,
                         const intarsia_plugin_message* message);
  /* Closes a device, after everything of it was unloaded and freed. */
  void (*close_device)(intarsia_plugin_device device);

  /* Allocates zero-filled memory of at least 1 byte. */
  int32_t (*allocate)(intarsia_plugin_device device, size_t bytes, intarsia_plugin_memory* memory,
                      const intarsia_plugin_message* message);
  void (*free_memory)(intarsia_plugin_device device, intarsia_plugin_memory memory);
  /* Copy from and to host memory, which stays until the work is done. */
  int32_t (*upload)(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                    const void* from, size_t bytes, intarsia_plugin_event* event,
                    const intarsia_plugin_message* message);
  int32_t (*download)(intarsia_plugin_device device, void* to, intarsia_plugin_memory from,
                      size_t from_offset, size_t bytes, intarsia_plugin_event* event,
                      const intarsia_plugin_message* message);
  /* Copies within the device; the ranges may overlap. */
  int32_t (*move)(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                  intarsia_plugin_memory from, size_t from_offset, size_t bytes, intarsia_plugin_event* event,
                  const intarsia_plugin_message* message);

  /* Blocks until the work is done. Returns a status other than OK if the work failed. */
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
   * without memory in the buffers. Types that differ from the plan's are an error. Needed for open sizes. */
  int32_t (*shapes)(intarsia_plugin_device device, intarsia_plugin_executable executable,
                    const intarsia_plugin_buffer* const* inputs, size_t input_count,
                    intarsia_plugin_buffer* const* outputs, size_t output_count,
                    const intarsia_plugin_message* message);
  /* (optional) Copies from the memory of another open device of this plug-in, not via the host. */
  int32_t (*copy_from)(intarsia_plugin_device device, intarsia_plugin_memory to, size_t to_offset,
                       intarsia_plugin_device other, intarsia_plugin_memory from, size_t from_offset,
                       size_t bytes, intarsia_plugin_event* event, const intarsia_plugin_message* message);
  /* (optional, both or none) Allocate and free host memory from and to which the device copies faster. */
  int32_t (*allocate_staging)(intarsia_plugin_device device, size_t bytes, void** memory,
                              const intarsia_plugin_message* message);
  void (*free_staging)(intarsia_plugin_device device, void* memory);

  /* (optional) Returns the size of a device's memory in bytes, even if this machine lacks the device; 0 if
   * not known. It is the limit of a plan unless the user gives one (--memory). */
  uint64_t (*memory_bytes)(size_t number);
  /* Whether (not 0) the device works in host memory, so that nothing is copied: memory handles are addresses,
   * inputs and outputs lie where the caller has them, aligned only to their elements, and constants in the
   * program's file, which is only read. allocate, free_memory, upload, download and move are not called, and
   * may be NULL. */
  int64_t unified_memory;
  /* (optional) Options that may follow a device's name, as in "toy_npu:0?power=low&cores=2". `compile`,
   * `supports` and similar calls get the whole name; other options are an error that lists these. */
  size_t option_count;
  const intarsia_plugin_option* const* options;
  /* Opens a device whose name has options; needed if there are any. The plug-in checks the values. */
  int32_t (*open_device_with)(size_t number, const intarsia_plugin_setting* const* settings,
                              size_t setting_count, intarsia_plugin_device* device,
                              const intarsia_plugin_message* message);
  /* Number of runs that a device does at once, at most 64; 0: one. A stage of a pipeline on such a device has
   * as many sessions, and one more whose values are copied meanwhile; each opens the device. */
  uint32_t compute_queues;
} intarsia_plugin_runtime;

/* ---- The plug-in ---- */

typedef struct intarsia_plugin {
  size_t struct_size;
  int32_t abi; /* INTARSIA_PLUGIN_ABI */
  /* Name of the plug-in, of its backend (toy_npu@accel) and kind of its devices (toy_npu:0): a lowercase
   * letter, then lowercase letters, digits and underscores, at most 31 in all; not the name of a backend or
   * device kind of Intarsia, nor a reserved word. */
  const char* name;
  /* Version, as in "1.4.2": one word of at most 63 characters. A program runs where the plug-in has the same
   * number before the first dot as when it was compiled. Measured times hold for the exact version only. */
  const char* version;
  const intarsia_plugin_compiler* compiler; /* NULL if the library only runs programs */
  const intarsia_plugin_runtime* runtime;
} intarsia_plugin;

/* Returns the plug-in, or NULL if it cannot work here. The only function that the library exports. The
 * result, and the structs in it, live as long as the process: the library is never closed. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const intarsia_plugin* intarsia_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif
