/* Intarsia: compile models from C. The library is libintarsia_compile.so; errors, tensors, strings and the
 * rules for every call are those of intarsia.h (libintarsia.so). intarsia_compile.hpp is the C++ wrapper,
 * which opens the library on first use. It needs libintarsia.so of the same version, and shares that one's
 * thread pools, opened devices and plug-ins (intarsia_load_plugin).
 *
 * Results are JSON texts, described in docs/json.md. The caller owns a returned text and frees it with
 * intarsia_text_release. Several threads may make the calls at once.
 */
#ifndef INTARSIA_INTARSIA_COMPILE_H_
#define INTARSIA_INTARSIA_COMPILE_H_

#include <intarsia/intarsia.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the INTARSIA_API_VERSION that the library was built with. */
INTARSIA_EXPORT uint32_t intarsia_compile_api_version(void);

INTARSIA_EXPORT void intarsia_text_release(char* text);

/* List of zero-terminated strings; all zero is the empty list. */
typedef struct intarsia_strings {
  const char* const* items;
  size_t count;
} intarsia_strings;

/* Options of a compile. All zero except struct_size and `model`: for the CPU, with all backends. */
/* Errors name a field as the command line does: `--shape` is `shapes`, `--pin` is `pins`. */
typedef struct intarsia_compile_request {
  size_t struct_size;
  const char* model;   /* path of the model: an ONNX file, a frozen GraphDef (.pb), a SavedModel folder */
  const char* program; /* path of the program to write */
  /* Devices to compile for: "cpu", "cpu:0-1", "opencl:0", "cuda:0", "sim:0", "accel=sim:1" (SLOT=DEVICE),
   * "NAME:0" of a plug-in. Empty: "cpu", or for throughput all cores that the calling thread may use, in sets
   * of `threads` (0: one) that are separate executors. "auto": all devices of this machine except simulations
   * and OpenCL devices that are the processor; the program keeps those that its plan uses. */
  intarsia_strings devices;
  intarsia_strings backends; /* names in order of preference; empty: all, in the order of intarsia_backends */
  /* "INPUT=1x3x224x224". A size that stays open until a run is a name ("N", without the letter x), "?" (the
   * model's name), a range ("1..32"), a list of sizes to be fastest at ("1,8,32"), or both ("1..32:1,8").
   * Sizes that no shape mentions stay open; they become 1 if a device is named whose plug-in takes numbers
   * only.
   */
  intarsia_strings shapes;
  /* Placement of the nodes whose name matches GLOB: "GLOB=BACKEND@SLOT", or "GLOB=@SLOT" for any backend
   * there; later ones win. */
  intarsia_strings pins;
  /* "auto": frameworks run what none of our backends can; "none": no framework is opened. NULL: "auto". */
  const char* fallback;
  const char*
      cpu; /* "native", "x86-64-v2", "x86-64-v3", "x86-64-v4", or a processor and its successors: "alderlake",
              "cascadelake", "sapphirerapids", "znver4"; or several, "x86-64-v3,native": the program has a
              variant for each, of which a machine takes the most demanding that it can run; NULL: "native" */
  /* Threads that a run will use. 0: one per core that the calling thread may use; where the processor is
   * used as core sets, as many as the largest set has cores. */
  int32_t threads;
  intarsia_strings kernels; /* paths of libraries with kernels of your own (kernel.h) */
  int32_t strip_names;      /* whether (not 0) to leave node names out of the program */
  int32_t dry_run;          /* whether (not 0) to do everything except write the program */
  /* Passes whose result goes to `print`; intarsia_pass_names lists them. Steps of a backend are named like
   * "halide.fuse". */
  intarsia_strings print_after;
  const char* stop_after; /* pass to stop after, without a program; NULL: do not stop */
  /* "fast": algorithms whose error stays under 1e-4 of the largest output; "exact": direct arithmetic only.
   * NULL: "fast". */
  const char* math;
  /* "off": kernels are chosen analytically, nodes stay as placed; "fast", "full": by measured times of few or
   * many variants, and of plans that run more in a framework. Nothing can be measured for a CPU other than
   * this one. NULL: "fast". */
  const char* tune;
  /* Limit of the measuring time, in seconds; the rest is chosen analytically. 0: no limit. */
  double tune_seconds;
  const char* cache; /* folder of the measured times and generated code; NULL: the user's cache folder */
  /* Signatures of a SavedModel, each of which becomes a function of its name. Empty: "serving_default", or
   * all if there is no such signature. */
  intarsia_strings signatures;
  intarsia_strings op_libraries; /* paths of libraries with TensorFlow operators of your own */

  /* Callbacks on the thread of the call; may be NULL. `user` is passed through. `phase` is the current
   * activity; `done` of `total` is the part of the call that is done, by time, and never decreases. */
  void (*progress)(void* user, const char* phase, int32_t done, int32_t total);
  void (*print)(void* user, const char* text);
  void* user;
  /* Polled several times a second on the thread of the call: not 0 ends the work with the error
   * "interrupted", and nothing is left behind. NULL: never cancelled. */
  int32_t (*is_cancelled)(void* user);
  /* Path of a plan (docs/plans.md) that says where each node runs; nothing is measured then. NULL: none. */
  const char* plan;
  /* Path of the file to write the plan of this compile to. NULL: none. */
  const char* save_plan;
  /* Slots of `devices` that must suffice to run the program: where another device is missing, an alternative
   * that uses only these runs. Empty: all devices that the plan uses must be present. */
  intarsia_strings also;
  /* Limits "SLOT=SIZE", as in "accel=64MB" (a KB is 1024 bytes), on what the program takes of the memory that
   * the slot works in: its constants there and the working memory of one session. Slots on the host share one
   * memory. The planner searches for a plan that fits; if there is none, the error says how much is needed.
   * Empty: no limit. */
  intarsia_strings memory;
  /* Goal of the plan. "latency": the shortest time of a run. "throughput": the program has stages, which a
   * pipeline runs side by side, one frame each (docs/stages.md). NULL: "latency". */
  const char* objective;
  /* Number of stages with "throughput", as in "2"; "auto" or NULL: as many as are best. */
  const char* stages;
  /* Names of values at which a stage ends with "throughput". Empty: the planner chooses the cuts. */
  intarsia_strings cuts;
  /* Choice among plans that take nearly the same time. "self-contained": a plan that needs no framework's
   * library, unless another takes at least 3% less; "fastest": the fastest one. NULL: "self-contained". */
  const char* prefer;
  /* "speed": weights may take more room than in the model (convolutions by Winograd's algorithm: up to four
   * times), and a plan with frameworks comes with one without them. "size": neither; what `also` asks for
   * stays. NULL: "speed". */
  const char* optimize;
  /* Sizes of open symbols to be fastest at, before those that `shapes` lists: "batch=8", "batch=1,8,seq=77".
   * Plans are measured with the first of each. */
  intarsia_strings tune_at;
  /* "f32": products of f32 are exact but for rounding; "bf16": those with constant weights may round their
   * factors to bf16 where that is measured to be faster, and sum in f32; "f16": they may keep these weights
   * as f16. Inputs, outputs and what a model has in other types stay as they are. "bf16" is an error where
   * the CPU lacks such products, "f16" where it cannot widen f16. "auto": "bf16", or else "f16", where the
   * CPU has it and no output differs from that in f32 by more than max_error, else "f32". All but "f32"
   * compile the model in f32, too, and run both programs. NULL: "f32". */
  const char* precision;
  /* Largest difference, relative to the largest element of an output, with precision "auto"; 0: 0.01. */
  double max_error;
  /* input_count inputs that this difference is measured with; all others are filled. */
  const intarsia_tensor* inputs;
  size_t input_count;
  /* Architecture to compile for: "x86-64", "aarch64", "armv7", "riscv64"; for microcontrollers, which run no
   * programs (.so), "armv7e-m", "armv8.1-m.main". For another than this machine's, nothing is measured,
   * devices are "cpu" or "sim", `cpu` is a processor of it (NULL, "native": what all of them have), and
   * `threads` 0 is 4. NULL or "": this machine's. */
  const char* arch;
  /* What intarsia_compile writes. "so": a program; NULL: the same. "c": plain C (docs/emit_c.md), for which
   * `program` is a folder and a name, as in "out/net"; it runs on the CPU in one thread unless `threads` says
   * otherwise, with kernels of our compiler only. `inputs` are those of its test. */
  const char* emit;
  /* Where plain C has its constants: "object", "file", "array"; NULL: "object". */
  const char* constants;
  /* Identifiers of plain C for names of the model, each "NAME=IDENTIFIER". */
  intarsia_strings c_names;
} intarsia_compile_request;

/* Compiles a model to a program, which is written whole or not at all. `report` (may be NULL) becomes the
 * object of `intarsia compile --json`. Errors: the model cannot be read, is invalid, or has operators that no
 * backend runs; an unknown backend, device, pin, input or pass; no plan keeps the limits of `memory`; the
 * program cannot be written. */
INTARSIA_EXPORT intarsia_error* intarsia_compile(const intarsia_compile_request* request, char** report);

/* Explains what runs where, and why, in a model (placed as a compile would, but not compiled) or a program,
 * named by request->model. Each result may be NULL: the object of `intarsia explain --json`, lines for
 * people, a Graphviz picture. Operators that no backend runs are no error; their target is "nobody@cpu". */
INTARSIA_EXPORT intarsia_error* intarsia_explain(const intarsia_compile_request* request, char** json,
                                                 char** text, char** dot);

/* Forms of one explanation. The caller owns each text and frees it with intarsia_text_release. */
typedef struct intarsia_explanation {
  size_t struct_size;
  char* json;  /* the object of `intarsia explain --json` */
  char* text;  /* lines for people, at most 80 columns wide as far as names allow */
  char* nodes; /* lines, one per node, which `intarsia explain --nodes` adds to the text */
  char* dot;   /* a Graphviz picture */
  char* html;  /* a self-contained page with a picture and tables, in UTF-8 */
} intarsia_explanation;

/* Explains like intarsia_explain, in all forms. After an error `explanation` is unchanged. */
INTARSIA_EXPORT intarsia_error* intarsia_explain_all(const intarsia_compile_request* request,
                                                     intarsia_explanation* explanation);

/* Writes a copy of the ONNX model request->model to `path`, whole or not at all, in which the metadata of
 * each node says where it runs in the plan that intarsia_explain shows, or in request->plan if given
 * (docs/plans.md): compiling the copy gives this plan. Nothing else in the file changes; weights in other
 * files stay there, so the copy must be in the same folder. Errors: the model is not ONNX, or a node has no
 * backend; `path` is one of the files that are read; a node of the plan is not a separate node in the file,
 * for example in a function that runs on several targets; the model would have more than 2 GB. */
INTARSIA_EXPORT intarsia_error* intarsia_annotate(const intarsia_compile_request* request, const char* path);

/* Cuts the ONNX model request->model at `cut_count` values into separate models: creates `folder` and writes
 * `stage0.onnx`, `stage1.onnx`, ... with their weights into it, and `pipeline.json`, the pipeline of the
 * programs `stage0.so`, ... that they can be compiled to, each with its own options (intarsia_pipeline_read).
 * A stage holds what its value depends on and no earlier stage has; the last stage holds what no cut depends
 * on. Inputs and outputs of stages have the names of the model's values. Only model, shapes, progress and
 * is_cancelled of the request count. Types are inferred first, as in a compile, and what depends on no input
 * becomes a constant. *json (may be NULL) becomes the object of `intarsia split --json`, which the caller
 * frees with intarsia_text_release. Errors: the model is not ONNX; no cut, or one that cuts nothing off; a
 * stage with more than 2 GiB of weights; a file that cannot be written. */
INTARSIA_EXPORT intarsia_error* intarsia_split(const intarsia_compile_request* request,
                                               const char* const* cuts, size_t cut_count, const char* folder,
                                               char** json);

typedef struct intarsia_rewrite_request {
  size_t struct_size;
  /* The model and how to compile it; its other paths are ignored. Its threads, if not 0, are the most that a
   * node uses, too. */
  const intarsia_compile_request* compile;
  const char* output;            /* folder that is made */
  const intarsia_tensor* inputs; /* input_count inputs to time signatures with; all others are filled */
  size_t input_count;
  int32_t force; /* whether (not 0) an older SavedModel there is replaced */
  /* Whether (not 0) variables that nothing reads any more, as a program has their values, stay in the
   * checkpoint and among the model's objects. */
  int32_t keep_variables;
  /* Nodes to replace whatever is measured, each "SCOPE=PROGRAM:FUNCTION": a node, all nodes of a scope
   * ("SCOPE/..."), or each call of a function of the model becomes a call of FUNCTION of the program file
   * PROGRAM, which is copied into the model; ":FUNCTION" may be left out where PROGRAM has one. Inputs and
   * outputs are paired by name where all names agree, else in order (docs/rewrite.md). */
  intarsia_strings replacements;
} intarsia_rewrite_request;

/* Forms of the report of one rewriting. The caller owns each text and frees it with intarsia_text_release. */
typedef struct intarsia_rewrite_report {
  size_t struct_size;
  char* json; /* the object of `intarsia rewrite --json` */
  char* html; /* a self-contained page with bars and tables, in UTF-8 */
} intarsia_rewrite_report;

/* Rewrites a SavedModel so that nodes of the operator Intarsia (docs/tensorflow_op.md) compute the parts that
 * a program computes faster than TensorFlow; all else stays (docs/rewrite.md). The program is an asset of the
 * new SavedModel, which appears whole or not at all. Where nothing is faster in TensorFlow, it is a copy.
 * `report` (may be NULL) says what was done, and how much faster that is; after an error it is unchanged.
 * Errors: the model is not a SavedModel, is damaged, is rewritten already, or lacks a signature of the
 * request; TensorFlow is not here, or lacks an operator of the model; `output` exists, or cannot be written;
 * a replacement names no nodes, or no function that takes and makes what they do, or the model's results
 * differ with it. */
INTARSIA_EXPORT intarsia_error* intarsia_rewrite(const intarsia_rewrite_request* request,
                                                 intarsia_rewrite_report* report);

typedef struct intarsia_check_request {
  size_t struct_size;
  const char* path;  /* a model, which is compiled first, or a program */
  const char* model; /* model to compare a program with; NULL: the model that it was compiled from */
  /* Runtime to compare with: "onnxruntime", "tensorflow", "reference"; NULL: the model's own framework if it
   * is available and runs the model, else "reference". */
  const char* against;
  /* Floats may differ by atol + rtol * max|reference|. Negative: atol 1e-5; rtol 1e-3, 1e-2 for outputs of
   * f16 and for all with precision "f16", 6e-2 for those of bf16 and for all with "bf16" or "auto". */
  double rtol, atol;
  const intarsia_tensor* inputs; /* input_count inputs; all others are filled */
  size_t input_count;
  const intarsia_compile_request*
      compile; /* options to compile a model with (its paths are ignored); may be NULL. For a program only its
                * threads, and shapes of numbers at which inputs that are not given are filled */
  const intarsia_binding* bindings; /* binding_count bindings of slots */
  size_t binding_count;
  /* Whether (not 0) to look for the first node whose value is wrong after a mismatch, by compiling parts of
   * the model (for a program, its model again); a failure to find it is a warning in the report. */
  int32_t bisect;
} intarsia_check_request;

/* Runs a model or program and another runtime on the same inputs and compares the results: of the preferred
 * plan and of every alternative that can run here, each on its own; where sizes are open and no input is
 * given, at several sizes. `ok` becomes 1 or 0, `report` (may be NULL) the object of `intarsia check --json`.
 * A mismatch is not an error. */
INTARSIA_EXPORT intarsia_error* intarsia_check(const intarsia_check_request* request, int32_t* ok,
                                               char** report);

/* Compares floats with tolerance atol + rtol * max|reference| (negative: rtol 1e-3, for f16 1e-2, for bf16
 * 6e-2; atol 1e-5), everything else for equality. `ok` becomes 1 or 0, `report` (may be NULL) an entry of
 * `outputs` of `intarsia check
 * --json`, named like the reference. */
INTARSIA_EXPORT intarsia_error* intarsia_compare(const intarsia_tensor* actual,
                                                 const intarsia_tensor* reference, double rtol, double atol,
                                                 int32_t* ok, char** report);

/* ---- Measuring ---- */

/* Returns 1 if `threads` threads run side by side now, each on its own core, else 0. Other programs take
 * cores away; two cores of a virtual machine may be hyperthreads of one for a while. Computes for up to a
 * millisecond. */
INTARSIA_EXPORT int32_t intarsia_has_free_cores(int32_t threads);

/* ---- Peers: other runtimes, to compare speed with ----
 * A peer takes as many cores and as much memory as it wants: open it in a separate process. */

/* A model opened in another runtime, with its inputs. Takes one call at a time, except
 * intarsia_peer_run_lane. */
typedef struct intarsia_peer intarsia_peer;

typedef struct intarsia_peer_request {
  size_t struct_size;
  const char* runtime; /* "onnxruntime", "openvino", "tensorflow" (of the model's own kind) */
  /* Goal of the setup. NULL: the shortest time of one run. "throughput" (onnxruntime, openvino): the most
   * runs per time, several at once; onnxruntime has a session for every `threads` cores of the calling
   * thread, pinned to them, openvino divides these cores on its own. openvino also knows "latency_hint" (same
   * as NULL) and "one_stream": how it divides the threads of one run. */
  const char* configuration;
  const char* model; /* path of the model file */
  int32_t threads;   /* threads of a run, including the caller's; at least 1 */
  /* Inputs of the model, all input_count of them. Their data is used in place and must outlive the peer;
   * sizes that the model leaves open become theirs. */
  const intarsia_tensor* inputs;
  size_t input_count;
  const char* signature;         /* signature of a SavedModel; NULL: "serving_default", or the only one */
  intarsia_strings op_libraries; /* paths of libraries with TensorFlow operators of your own */
  const char*
      precision; /* "bf16": openvino computes f32 in it; "f16", "f32": in f32, as others do. NULL: "f32" */
} intarsia_peer_request;

/* Opens a model. Close it with intarsia_peer_close. Errors: the runtime is not on this machine, or
 * does not accept the model, the inputs or the number of threads. */
INTARSIA_EXPORT intarsia_error* intarsia_peer_open(const intarsia_peer_request* request,
                                                   intarsia_peer** peer);
INTARSIA_EXPORT void intarsia_peer_close(intarsia_peer* peer);

/* Returns the version of the runtime, as in "1.31.1". Lives as long as the peer. */
INTARSIA_EXPORT const char* intarsia_peer_version(const intarsia_peer* peer);

INTARSIA_EXPORT intarsia_error* intarsia_peer_run(intarsia_peer* peer);

/* Returns how many runs are possible at a time, each in its own lane; 1 unless opened for throughput. */
INTARSIA_EXPORT size_t intarsia_peer_lane_count(const intarsia_peer* peer);
/* Runs in a lane, counted from 0 (intarsia_peer_run: in lane 0). Different threads may run in different lanes
 * at the same time. */
INTARSIA_EXPORT intarsia_error* intarsia_peer_run_lane(intarsia_peer* peer, size_t lane);

/* Count and return the outputs of the last run in lane 0, in the model's order, counted from 0. Release what
 * intarsia_peer_output fills in with intarsia_tensor_release before the next run; its name lives until then,
 * too. */
INTARSIA_EXPORT intarsia_error* intarsia_peer_output_count(intarsia_peer* peer, size_t* count);
INTARSIA_EXPORT intarsia_error* intarsia_peer_output(intarsia_peer* peer, size_t i, intarsia_tensor* output);

/* Lists the backends, in order of preference: {"backends":[{"name","version","present","why"}]}. */
INTARSIA_EXPORT intarsia_error* intarsia_backends(char** json);

/* Lists the names that print_after and stop_after take, in order: {"passes":["import",...]}. */
INTARSIA_EXPORT intarsia_error* intarsia_pass_names(char** json);

/* ---- Functions of your own, written with Halide ---- */

/* Object file of a function that Halide compiled, under the name "intarsia_function_" followed by `name`,
 * with the target features user_context and no_runtime, and none beyond those of the CPU levels x86-64-v2
 * (sse41), -v3 (avx, avx2, fma, f16c) and -v4 (avx512, avx512_skylake). */
typedef struct intarsia_function_object {
  size_t struct_size;
  const char* name;   /* name of the function in the program: letters, digits and underscores */
  const void* object; /* bytes of the ELF relocatable file */
  size_t object_bytes;
} intarsia_function_object;

/* Writes a program whose functions are these: all or nothing. It runs like every other program. Inputs and
 * outputs are in the order of the code's arguments, under their names; a tensor's outermost axis is Halide's
 * last dimension, and scalar parameters are inputs of rank 0. Sizes are open where the code leaves them open,
 * and those of outputs follow from those of inputs, as the code tells when it is asked what it reads; axis 0
 * of the input x is named "x_0". Of several functions of one name, which are forms of the same function, the
 * program has the one that takes the least time here; times are kept with those of kernels.
 *
 * Of the request, these fields count: program, threads, tune_at (sizes at which forms are timed; others are
 * 128 or a little more), tune, cache, user and is_cancelled. Errors: an object that is not of this kind;
 * sizes that do not follow; what intarsia_output_check refuses. */
INTARSIA_EXPORT intarsia_error* intarsia_export_functions(const intarsia_compile_request* request,
                                                          const intarsia_function_object* functions,
                                                          size_t function_count);

/* Compiles the Halide generators that a library registers (HALIDE_REGISTER_GENERATOR), and writes a program
 * whose functions have their names, as intarsia_export_functions does; the request's cpu counts, too. The
 * library must be linked with the Halide that this package uses; its code runs in a process of its own, and
 * is not part of the program. `generators`: generator_count of them, each "NAME" or
 * "NAME/PARAMETER=VALUE/..." with values for its GeneratorParams, or "autoscheduler=NAME" and
 * "autoscheduler.PARAMETER=VALUE"; the fastest of those of one name; none: all that the library registers. */
INTARSIA_EXPORT intarsia_error* intarsia_export_generators(const intarsia_compile_request* request,
                                                           const char* library, const char* const* generators,
                                                           size_t generator_count);

/* ---- Times of kernels, from and for other machines ---- */

/* Compiles a model, without a program, for a processor whose code does not run here, and writes a new folder
 * with the kernels that times would choose from, and a script, run.sh, which times them on that machine
 * (docs/other_cpus.md). Its times.json is for intarsia_import_costs. *json (may be NULL) becomes the object
 * of `intarsia tune-pack --json`. Errors: code for the request's cpu runs here; the folder exists and is not
 * empty, or cannot be written; what intarsia_compile refuses. */
INTARSIA_EXPORT intarsia_error* intarsia_tune_pack(const intarsia_compile_request* request,
                                                   const char* folder, char** json);

/* Writes the measured times of kernels to the file `path` (docs/costs.md), whole or not at all. `cache`:
 * folder of the times; NULL: the user's cache folder. `cpu`: processor that the kernels are for; NULL:
 * "native". One whose code does not run here: the times that were imported for it. *json (may be NULL)
 * becomes the object of `intarsia costs export --json`. Errors: no times are known; the file cannot be
 * written. */
INTARSIA_EXPORT intarsia_error* intarsia_export_costs(const char* cache, const char* cpu, const char* path,
                                                      char** json);

/* Reads such a file, and keeps all of its times or none. Those of another machine choose the kernels of
 * compiles for its processor. *json (may be NULL) becomes the object of `intarsia costs import --json`.
 * Errors: the file is damaged, of another version of Intarsia, or of no use here (docs/costs.md); the times
 * cannot be kept. */
INTARSIA_EXPORT intarsia_error* intarsia_import_costs(const char* cache, const char* path, char** json);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTARSIA_INTARSIA_COMPILE_H_ */
