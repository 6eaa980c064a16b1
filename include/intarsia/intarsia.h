/* Intarsia: run compiled programs from C. This header and intarsia.hpp, its C++ wrapper, are the stable
 * surface.
 *
 * Rules for every call:
 *  - A function that can fail returns NULL on success, else an intarsia_error that the caller releases. Its
 *    out parameters are then unchanged, unless stated otherwise.
 *  - Structs start with `struct_size`, which the caller sets to sizeof of the struct as declared in its
 *    header; zero the rest. Later versions add fields only at the end, and the library accepts the structs of
 *    every version: a program compiled against an older header keeps running. A field that the library does
 *    not know must be zero.
 *  - Pointers passed to a call are read (or written) until it returns, never kept.
 *  - Pointers returned by a call belong to the object they came from and live as long as it does, unless
 *    stated otherwise.
 *  - Releasing NULL does nothing.
 *  - Exceptions never leave a call, and running out of memory is an error like any other.
 *  - Any number of threads may use a program at once. A session serves one thread at a time: a call on a
 *    session that another thread is using, or from a callback of the session's own run, fails with an error
 *    that says so, and changes nothing.
 */
#ifndef INTARSIA_INTARSIA_H_
#define INTARSIA_INTARSIA_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INTARSIA_API_VERSION 1
#define INTARSIA_EXPORT __attribute__((visibility("default")))

/* Return the version of the library in this process, as in "0.1.0", and the INTARSIA_API_VERSION that it was
 * built with. */
INTARSIA_EXPORT const char* intarsia_version(void);
INTARSIA_EXPORT uint32_t intarsia_api_version(void);

/* ---- Errors ---- */

typedef struct intarsia_error intarsia_error;

/* Kinds of errors. Programs branch on the kind; people read the message. Later versions may add kinds: treat
 * an unknown one as INTARSIA_ERROR_INTERNAL. */
enum {
  INTARSIA_ERROR_INVALID_ARGUMENT = 1, /* fault of the caller: an option, an input, a null pointer */
  INTARSIA_ERROR_NOT_FOUND = 2,        /* file, library or device that does not exist */
  INTARSIA_ERROR_UNSUPPORTED = 3,      /* valid request that nothing here can serve: an operator, this CPU */
  INTARSIA_ERROR_CORRUPT = 4,          /* model, program or array whose bytes make no sense */
  INTARSIA_ERROR_VERSION = 5,          /* file or library that is too old or too new */
  INTARSIA_ERROR_OUT_OF_MEMORY = 6,    /* exhausted memory of the host or of a device */
  INTARSIA_ERROR_DEVICE_LOST = 7,      /* device that failed after it had worked */
  INTARSIA_ERROR_BUSY = 8,             /* object in use by another thread */
  INTARSIA_ERROR_CANCELLED = 9,        /* work stopped at the caller's request */
  INTARSIA_ERROR_INTERNAL = 10,        /* bug in Intarsia: please report it */
  INTARSIA_ERROR_IO = 11,              /* refusal of the system to read, write or start something */
  INTARSIA_ERROR_TIMED_OUT = 12,       /* work not done within the timeout that the caller set */
  INTARSIA_ERROR_DROPPED = 13          /* frame of a pipeline dropped by a queue, its deadline or a stage */
};

/* Returns one of INTARSIA_ERROR_...; 0 for NULL. */
INTARSIA_EXPORT int32_t intarsia_error_kind(const intarsia_error* error);

/* Returns one line: what failed, where, what was wanted, what to do. Lives as long as the error. */
INTARSIA_EXPORT const char* intarsia_error_message(const intarsia_error* error);
INTARSIA_EXPORT void intarsia_error_release(intarsia_error* error);

/* ---- Values ---- */

/* Element types: the numbers of ONNX TensorProto.DataType. Packed types (4 and 2 bits) hold the first element
 * in the lowest bits of a byte. */
typedef enum intarsia_dtype {
  INTARSIA_UNDEFINED = 0,
  INTARSIA_F32 = 1,
  INTARSIA_U8 = 2,
  INTARSIA_I8 = 3,
  INTARSIA_U16 = 4,
  INTARSIA_I16 = 5,
  INTARSIA_I32 = 6,
  INTARSIA_I64 = 7,
  INTARSIA_STRING = 8, /* elements are intarsia_string */
  INTARSIA_BOOL = 9,   /* one byte, 0 or 1 */
  INTARSIA_F16 = 10,
  INTARSIA_F64 = 11,
  INTARSIA_U32 = 12,
  INTARSIA_U64 = 13,
  INTARSIA_C64 = 14,
  INTARSIA_C128 = 15,
  INTARSIA_BF16 = 16,
  INTARSIA_F8E4M3FN = 17,
  INTARSIA_F8E4M3FNUZ = 18,
  INTARSIA_F8E5M2 = 19,
  INTARSIA_F8E5M2FNUZ = 20,
  INTARSIA_U4 = 21,
  INTARSIA_I4 = 22,
  INTARSIA_F4E2M1 = 23,
  INTARSIA_F8E8M0 = 24,
  INTARSIA_U2 = 25,
  INTARSIA_I2 = 26
} intarsia_dtype;

typedef enum intarsia_kind {
  INTARSIA_TENSOR = 0,
  INTARSIA_SEQUENCE = 1, /* items: the elements, tensors */
  INTARSIA_OPTIONAL = 2, /* items: empty, or the content (a tensor or a sequence) */
  INTARSIA_MAP = 3,      /* items: the keys and the values, two one-dimensional tensors of equal length */
  INTARSIA_OPAQUE = 4    /* value of unknown type that is not a tensor, in descriptions */
} intarsia_kind;

/* String of any bytes; need not be zero-terminated. */
typedef struct intarsia_string {
  const char* data;
  size_t size;
} intarsia_string;

/* An argument of a run, input or output. Tensors are dense and row-major, in host memory, at any alignment.
 *
 * Input: owned by the caller, read until the run returns.
 * Output with data: the caller's buffer; dtype and shape must be the output's. Strings are the exception:
 * `data` is ignored and the library allocates the memory.
 * Output with data NULL: the library allocates the memory, or lets `allocate` do so, and fills in kind,
 * dtype, rank, shape, data and items; all but what `allocate` returned belongs to the tensor until
 * intarsia_tensor_release, and outlives session and program. */
typedef struct intarsia_tensor {
  size_t struct_size;
  const char* name; /* name of the argument; items need none */
  int32_t kind;     /* intarsia_kind */
  int32_t dtype;    /* intarsia_dtype; 0 unless kind is INTARSIA_TENSOR */
  void* data;       /* elements, as many as the product of shape; may be NULL when that is 0 */
  size_t rank;
  const int64_t* shape;          /* `rank` sizes */
  struct intarsia_tensor* items; /* item_count values; NULL for a tensor */
  size_t item_count;
  void* owner; /* library memory behind an output, NULL if none; set it to NULL before a run */
  /* Output of a session's or pool's run, with data NULL: allocator of its memory, or NULL. The run calls it
   * before it computes, in the calling thread, with the output (name, dtype, rank and shape; valid during the
   * call) and its bytes. It returns memory of the caller, at any alignment; NULL, if bytes is not 0, makes
   * the run fail with INTARSIA_ERROR_OUT_OF_MEMORY. Not called for outputs whose sizes only the values of a
   * run tell, strings, and those that are not tensors: their memory is the library's, without a copy. */
  void* (*allocate)(void* user, const struct intarsia_tensor* output, size_t bytes);
  void* allocate_user; /* passed through to `allocate` */
} intarsia_tensor;

/* Frees what a run allocated for this output and sets owner, data, shape and items to NULL. Must not be
 * called on items of a tensor. */
INTARSIA_EXPORT void intarsia_tensor_release(intarsia_tensor* tensor);

/* Overwrites a tensor's data with values that depend only on `seed`: floats and complex numbers between -1
 * and 1, integers and booleans 0 and 1. Strings are an error. The command line fills inputs that are not
 * given this way. */
INTARSIA_EXPORT intarsia_error* intarsia_tensor_fill(const intarsia_tensor* tensor, uint64_t seed);

/* ---- Programs ---- */

typedef struct intarsia_program intarsia_program;
typedef struct intarsia_session intarsia_session;

/* Opens a program file, checks it and loads its code. Release it with intarsia_program_release. All handles
 * of this process to programs of the same bytes, wherever they were loaded from, share code and constants;
 * programs that search their folder for libraries of your operators share within one folder.
 * Code and description are copied; constants stay in the file, which is memory-mapped. Replace a program's
 * file by renaming another file to its name, which does not affect loaded programs. After a change in place
 * (the size or modification time differs) the next bind is an error; what already bound sessions compute from
 * changed constants is undefined, and where the file was truncated it ends the process (SIGBUS). */
INTARSIA_EXPORT intarsia_error* intarsia_program_load(const char* path, intarsia_program** program);
/* Loads a program from the bytes of its file, which are copied unless this process has such a program. */
INTARSIA_EXPORT intarsia_error* intarsia_program_load_bytes(const void* bytes, size_t size,
                                                            intarsia_program** program);
/* Releases a program; its sessions keep the parts of it that they need. */
INTARSIA_EXPORT void intarsia_program_release(intarsia_program* program);

typedef struct intarsia_program_info {
  size_t struct_size;
  const char* producer;   /* "intarsia 0.1.0" */
  const char* arch;       /* "x86_64" */
  const char* cpu;        /* CPU level that the code was generated for: "x86-64-v4" */
  uint32_t threads;       /* number of threads that it was compiled for */
  const char* model_path; /* model that it was compiled from; may be empty */
  uint64_t model_digest;  /* XXH3 (64-bit) of the model file */
  size_t function_count;
  size_t slot_count;
  const void*
      identity; /* the same for all handles that share code and constants, for no other while these exist */
  const char* precision; /* type that products of f32 round factors to, "bf16" or "f16"; "f32": they do not */
} intarsia_program_info;

typedef struct intarsia_function {
  size_t struct_size;
  const char* name;
  size_t input_count;
  size_t output_count;
  size_t symbol_count; /* sizes that are open until a run */
} intarsia_function;

/* Named size that is open until a run: the shapes of the inputs tell it. */
typedef struct intarsia_symbol {
  size_t struct_size;
  const char* name; /* "batch" */
  int64_t min;      /* smallest size that a run may have */
  int64_t max;      /* largest one */
} intarsia_symbol;

typedef struct intarsia_argument {
  size_t struct_size;
  const char* name;
  int32_t kind;         /* intarsia_kind */
  int32_t dtype;        /* intarsia_dtype */
  int64_t rank;         /* number of sizes; -1 if not known before a run */
  const int64_t* shape; /* `rank` sizes; -1: any size (input), or known after a run (output) */
  /* Exclusive upper bound of the integers of an input that index another tensor, as token ids do: the size of
   * the smallest axis that they index. 0 if not known, or if the input does not index. */
  int64_t index_limit;
  /* Input: `rank` sizes that the program was measured with, for whoever needs some that it may have; those of
   * `shape` if none is open. */
  const int64_t* tuned_shape;
} intarsia_argument;

typedef struct intarsia_slot {
  size_t struct_size;
  const char* name;   /* "accel" */
  const char* kind;   /* kind of device that it can be bound to: "sim" */
  const char* device; /* device that is used when it is not bound: "sim:0" */
} intarsia_slot;

/* Fill in a struct whose struct_size the caller has set. Indices count from 0. */
INTARSIA_EXPORT intarsia_error* intarsia_program_describe(const intarsia_program* program,
                                                          intarsia_program_info* info);
INTARSIA_EXPORT intarsia_error* intarsia_program_function(const intarsia_program* program, size_t function,
                                                          intarsia_function* info);
INTARSIA_EXPORT intarsia_error* intarsia_program_input(const intarsia_program* program, size_t function,
                                                       size_t input, intarsia_argument* info);
INTARSIA_EXPORT intarsia_error* intarsia_program_output(const intarsia_program* program, size_t function,
                                                        size_t output, intarsia_argument* info);
INTARSIA_EXPORT intarsia_error* intarsia_program_symbol(const intarsia_program* program, size_t function,
                                                        size_t symbol, intarsia_symbol* info);
/* Sets *expression to what an open size of an input is over the function's symbols, "batch" or "past+1"; to
 * NULL for a number, and for a size that is known only after a run. It lives as long as the program. */
INTARSIA_EXPORT intarsia_error* intarsia_program_input_size(const intarsia_program* program, size_t function,
                                                            size_t input, size_t axis,
                                                            const char** expression);
/* The same of an output. */
INTARSIA_EXPORT intarsia_error* intarsia_program_output_size(const intarsia_program* program, size_t function,
                                                             size_t output, size_t axis,
                                                             const char** expression);
INTARSIA_EXPORT intarsia_error* intarsia_program_slot(const intarsia_program* program, size_t slot,
                                                      intarsia_slot* info);

/* Shape of an output, in the caller's memory. */
typedef struct intarsia_shape {
  size_t struct_size;
  const char* name; /* name of the output */
  /* Before the call: how many sizes `sizes` has room for. After it: the output's rank; -1 if only a run tells
   * it, as for values that are not tensors. */
  int64_t rank;
  int64_t* sizes; /* becomes the output's sizes, in elements; -1 where only a run tells it. May be NULL for
                   * rank 0 */
} intarsia_shape;

/* Computes the shapes of outputs of a function (NULL: the only one) from those of all its inputs, without a
 * run. Inputs are given as in intarsia_session_run, in any order; only their names and shapes are read, and
 * data may be NULL. Those that are not tensors may be left out. Outputs may be all or some, in any order. The
 * shapes of the inputs are checked as a run checks them, with the same errors: a missing or unknown input, a
 * rank, a fixed size, a size out of its range, sizes that contradict each other. In addition an unknown
 * output, or one with room for too few sizes, is an error. After an error the outputs are unchanged. A run
 * may still refuse sizes with which the model itself does not work, as positions beyond its table. */
INTARSIA_EXPORT intarsia_error* intarsia_program_output_shapes(const intarsia_program* program,
                                                               const char* function,
                                                               const intarsia_tensor* inputs,
                                                               size_t input_count, intarsia_shape* outputs,
                                                               size_t output_count);

/* Reads all constants and compares them with their digests, which loading does not do. */
INTARSIA_EXPORT intarsia_error* intarsia_program_verify(const intarsia_program* program);
/* Returns the program as text: slots, regions, steps, where each node runs and why. Lives as long as the
 * program. Empty if there is no memory for it. */
INTARSIA_EXPORT const char* intarsia_program_text(intarsia_program* program);

/* ---- Sessions ---- */

typedef struct intarsia_binding {
  const char* slot;   /* "accel" */
  const char* device; /* "sim:1", "opencl:0", "cpu:0-1" */
} intarsia_binding;

/* Reactions of a session to a run that ends with INTARSIA_ERROR_DEVICE_LOST. */
enum {
  /* Switches to the function's next alternative, if it has one: that repeats the run and serves later runs,
   * too. intarsia_session_alternative tells which one runs. */
  INTARSIA_ON_DEVICE_LOST_ALTERNATIVE = 0,
  INTARSIA_ON_DEVICE_LOST_ERROR = 1
};

typedef struct intarsia_bind_options {
  size_t struct_size;
  const intarsia_binding* bindings; /* binding_count bindings; slots not named keep their device */
  size_t binding_count;
  /* Threads of a run, at most one per core of the machine; 0: as compiled, at most one per core that the
   * thread that creates the session may use. Those cores and a slot's core set always limit it. */
  int32_t threads;
  int64_t on_device_lost; /* reaction, INTARSIA_ON_DEVICE_LOST_... */
  /* Most bytes that values of open size may take in the memory of each device; 0: no limit. A run whose sizes
   * need more is INTARSIA_ERROR_OUT_OF_MEMORY, and the session stays usable. */
  uint64_t max_arena_bytes;
  /* Whether (not 0) the buffer of an output may begin at the address of an input that the output continues:
   * the model makes it by a Concat whose first part is that input, as a decoder appends to its past. If all
   * axes before that of the Concat have size 1 in the run, and our kernels make the output in the host's
   * memory, the run leaves the input's bytes as they are, without a copy, and writes what follows them.
   * Otherwise it computes the output elsewhere and copies it into the buffer at its end, over the input. */
  int64_t append_in_place;
} intarsia_bind_options;

/* Creates a session: its buffers, and its share of the threads of its cores, which all sessions of the
 * process share. options may be NULL. Sessions with equal options share constants and code. A child of fork()
 * may run sessions of its parent, which get new threads there. Release it with intarsia_session_release. */
INTARSIA_EXPORT intarsia_error* intarsia_program_bind(const intarsia_program* program,
                                                      const intarsia_bind_options* options,
                                                      intarsia_session** session);
INTARSIA_EXPORT void intarsia_session_release(intarsia_session* session);

/* Way to run a function: the one that was chosen when the model was compiled, or another that does without a
 * library or a device. A session runs the first one that it could load and whose devices have memory for it;
 * when a device is lost, the next one (intarsia_bind_options). */
typedef struct intarsia_alternative {
  size_t struct_size;
  size_t number;        /* index; 0 is the chosen one, others need less */
  const char* targets;  /* backends and slots: "halide@cpu + reference@cpu" */
  uint64_t measured_ns; /* time of a run on the compiling machine; 0 if not measured */
  const char* reason;   /* why earlier ones cannot run here, or no longer can; "" for number 0 */
} intarsia_alternative;

/* Describes what the session runs as a function, counted from 0 as in intarsia_program_function. Fills in a
 * struct whose struct_size the caller has set; its strings live as long as the session. Must not be called
 * during a run. */
INTARSIA_EXPORT intarsia_error* intarsia_session_alternative(const intarsia_session* session, size_t function,
                                                             intarsia_alternative* info);

/* Copies to and from a device's memory, by all sessions that use it, since this process opened it. */
typedef struct intarsia_copy_counts {
  size_t struct_size;
  uint64_t uploads, uploaded_bytes;     /* copies from host memory: constants once, inputs in every run */
  uint64_t downloads, downloaded_bytes; /* copies to host memory */
  uint64_t direct, direct_bytes;        /* copies from the memory of another device, not via the host */
} intarsia_copy_counts;

/* Returns the counts of the memory that a slot, counted from 0 as in intarsia_program_slot, works in; host
 * memory is never copied to. Fills in a struct whose struct_size the caller has set. Errors: no such slot, or
 * the session has no device for it. */
INTARSIA_EXPORT intarsia_error* intarsia_session_copy_counts(const intarsia_session* session, size_t slot,
                                                             intarsia_copy_counts* counts);

/* Returns the bytes of working memory that the session has, on all its devices together. For open sizes it
 * grows with the sizes of the runs, and never shrinks; where every size has a largest one, it is reserved for
 * those. Outputs that a run allocates are the caller's, and not in it. Must not be called during a run. */
INTARSIA_EXPORT uint64_t intarsia_session_arena_bytes(const intarsia_session* session);

/* Runs a function (NULL: the only one). Every input must be given, in any order; outputs not requested are
 * dropped. Outputs must not overlap inputs, unless append_in_place allows it. After an error the outputs'
 * data is undefined, and none has an owner. */
INTARSIA_EXPORT intarsia_error* intarsia_session_run(intarsia_session* session, const char* function,
                                                     const intarsia_tensor* inputs, size_t input_count,
                                                     intarsia_tensor* outputs, size_t output_count);

/* Callback that a run calls for every value that passes between regions, right after it was produced. `value`
 * and everything it points to live until the callback returns. Strings, and values that are not tensors, are
 * skipped. */
typedef void (*intarsia_dump)(void* user, const intarsia_tensor* value);
/* Sets the session's dump; NULL turns it off. `user` is passed through. */
INTARSIA_EXPORT intarsia_error* intarsia_session_set_dump(intarsia_session* session, intarsia_dump dump,
                                                          void* user);

/* Piece of work that a run did. */
typedef struct intarsia_trace_event {
  size_t struct_size;
  /* First source node of a region, output and operators of a kernel, or what a copy copies. Valid during the
   * call. */
  const char* name;
  const char* kind; /* "region", "copy" (between devices), "kernel" (within a region) or "bodies" (a branch or
                     * loop, within which regions run) */
  const char* device; /* "cpu" */
  int64_t begin_ns;   /* time of a steady clock; of a kernel on an OpenCL device, as the device measured it */
  int64_t end_ns;
} intarsia_trace_event;

/* Callback that a run calls after each piece of work; where devices overlap, from several threads at once. */
typedef void (*intarsia_trace)(void* user, const intarsia_trace_event* event);
/* Sets the session's trace; NULL turns it off. `user` is passed through. */
INTARSIA_EXPORT intarsia_error* intarsia_session_set_trace(intarsia_session* session, intarsia_trace trace,
                                                           void* user);

/* ---- Pools of sessions ---- */

/* Sessions of one program for any number of threads: each run takes one that no other run uses. */
typedef struct intarsia_pool intarsia_pool;

typedef struct intarsia_pool_options {
  size_t struct_size;
  const intarsia_bind_options* bind; /* options of the sessions, copied; may be NULL */
  size_t max_sessions; /* most sessions at a time, for which further runs wait; 0: no limit, no run waits */
  /* Most sessions kept for later runs while no run uses them; 0: one per core that the thread that creates
   * the pool may use. */
  size_t max_idle;
} intarsia_pool_options;

/* Creates a pool, without sessions: a run that finds none idle creates one. options may be NULL. Release it
 * with intarsia_pool_release when none of its runs goes on; the program may be released before. */
INTARSIA_EXPORT intarsia_error* intarsia_program_pool(const intarsia_program* program,
                                                      const intarsia_pool_options* options,
                                                      intarsia_pool** pool);
INTARSIA_EXPORT void intarsia_pool_release(intarsia_pool* pool);

/* Runs a function as intarsia_session_run does, in one of the pool's sessions; any number of threads may. */
INTARSIA_EXPORT intarsia_error* intarsia_pool_run(intarsia_pool* pool, const char* function,
                                                  const intarsia_tensor* inputs, size_t input_count,
                                                  intarsia_tensor* outputs, size_t output_count);

typedef struct intarsia_pool_info {
  size_t struct_size;
  size_t sessions; /* sessions that it has now */
  size_t idle;     /* those of them that no run uses */
} intarsia_pool_info;

/* Fills in a struct whose struct_size the caller has set. */
INTARSIA_EXPORT intarsia_error* intarsia_pool_describe(const intarsia_pool* pool, intarsia_pool_info* info);

/* ---- Profiles ---- */

typedef struct intarsia_profile intarsia_profile;

typedef struct intarsia_profile_info {
  size_t struct_size;
  size_t run_count;   /* runs that were timed */
  uint64_t run_ns;    /* time of a whole run */
  size_t entry_count; /* entries, the one that takes most time first */
} intarsia_profile_info;

/* Part of a run that takes time. Strings and lists live as long as the profile. */
typedef struct intarsia_profile_entry {
  size_t struct_size;
  /* "kernel", "operator" (of a framework, by its own profile), "region" (whose backend does not report its
   * parts) or "copy" (between devices). */
  const char* kind;
  const char* name;   /* source node and operators: "conv1: Conv Relu" */
  const char* target; /* backend and slot: "halide@cpu"; for a copy the device */
  uint64_t time_ns;   /* time per run */
  /* Nodes of the model that it computes: names and operators, node_count of each; 0 if not known. Nodes that
   * were folded into constants, or only reinterpret memory, are in no entry. */
  const char* const* nodes;
  const char* const* ops;
  size_t node_count;
  int32_t dtype;        /* element type of its output (intarsia_dtype); 0 if not known */
  int64_t rank;         /* rank of its output; -1 if not known */
  const int64_t* shape; /* `rank` sizes */
  size_t weights_rank;  /* rank of a contraction's second operand; 0 if there is none, or not known */
  const int64_t* weights_shape;
  /* Operations of its products (Conv, MatMul, Gemm, attention, recurrences) by their definition, a multiply
   * and an add counted as two; 0 if it has none, or not known. */
  uint64_t flops;
  uint64_t bytes;        /* bytes that it reads and writes, each counted once; 0 if not known */
  const char* algorithm; /* text for people: "winograd 4x4, tile 6x32"; "" if not known */
} intarsia_profile_entry;

/* Runs a function (NULL: the only one) on these inputs several times and measures where the time goes. Times
 * are means over the faster half of the runs, so that those of entries add up to at most run_ns, unless
 * devices work at the same time. `runs` 0: as many as fit into a second, 5 to 200. Frameworks run their
 * regions again for their own profiles. The session's trace does not see these runs; its dump is called, and
 * slows them. Release the profile with intarsia_profile_release. */
INTARSIA_EXPORT intarsia_error* intarsia_session_profile(intarsia_session* session, const char* function,
                                                         const intarsia_tensor* inputs, size_t input_count,
                                                         size_t runs, intarsia_profile** profile);
/* Fill in a struct whose struct_size the caller has set. Entries count from 0. */
INTARSIA_EXPORT intarsia_error* intarsia_profile_describe(const intarsia_profile* profile,
                                                          intarsia_profile_info* info);
INTARSIA_EXPORT intarsia_error* intarsia_profile_get(const intarsia_profile* profile, size_t entry,
                                                     intarsia_profile_entry* info);
/* Releases a profile, which may outlive its session. */
INTARSIA_EXPORT void intarsia_profile_release(intarsia_profile* profile);

/* ---- Devices ---- */

typedef struct intarsia_device {
  size_t struct_size;
  const char* name;        /* name to bind: "cpu". Lives as long as the process, like the description */
  const char* description; /* text for people */
} intarsia_device;

/* Count and describe the devices of this machine. */
INTARSIA_EXPORT size_t intarsia_device_count(void);
INTARSIA_EXPORT intarsia_error* intarsia_device_info(size_t index, intarsia_device* info);

/* ---- Plug-ins: devices of your own (plugin.h) ----
 * Plug-ins that the environment variable INTARSIA_PLUGINS names, as paths separated by colons, are loaded
 * when the library first needs them.
 */

/* Opens a plug-in's library and adds its devices to those of this process, and its backend to those that can
 * run programs; load it before the programs that need it. It stays loaded until the process ends. Loading a
 * plug-in again is not an error. Errors: the library cannot be opened or is not a plug-in, it was built for
 * another ABI, or another plug-in has its name. */
INTARSIA_EXPORT intarsia_error* intarsia_load_plugin(const char* path);

/* A loaded plug-in. Strings live as long as the process. */
typedef struct intarsia_plugin_description {
  size_t struct_size;
  const char* name; /* name of its backend, and kind of its devices: "toy_npu" */
  const char* version;
  const char* path; /* path as it was given */
} intarsia_plugin_description;

/* Count and describe the plug-ins of this process, in the order in which they were loaded. */
INTARSIA_EXPORT size_t intarsia_plugin_count(void);
INTARSIA_EXPORT intarsia_error* intarsia_plugin_info(size_t index, intarsia_plugin_description* info);

/* ---- Output files ----
 * Results that go with programs can be written the way the library writes programs. Outputs are new files or
 * replace regular ones; links are followed and kept. */

/* Checks whether `path` can be an output. Call it before the work starts; it changes nothing. Errors: `path`
 * is a folder, pipe or device, one of the `input_count` files `inputs`, or a file in a folder among them. */
INTARSIA_EXPORT intarsia_error* intarsia_output_check(const char* path, const char* const* inputs,
                                                      size_t input_count);

/* Writes the pieces one after the other, all or nothing: the old file stays until everything is on disk. */
INTARSIA_EXPORT intarsia_error* intarsia_output_write(const char* path, const intarsia_string* pieces,
                                                      size_t piece_count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTARSIA_INTARSIA_H_ */
