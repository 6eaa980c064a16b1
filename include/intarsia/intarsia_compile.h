/* Intarsia: compile models from C. The library is libintarsia_compile.so; errors, tensors and strings are
 * those of intarsia.h (libintarsia.so), and so are the rules for every call. intarsia_compile.hpp is C++ over
 * it, and opens the library on first use.
 *
 * Results are JSON texts, described in docs/json.md. The caller owns a returned text and frees it with
 * intarsia_text_release. The calls may come from several threads at once.
 */
#ifndef INTARSIA_INTARSIA_COMPILE_H_
#define INTARSIA_INTARSIA_COMPILE_H_

#include <intarsia/intarsia.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The INTARSIA_API_VERSION that the library was built with. */
INTARSIA_EXPORT uint32_t intarsia_compile_api_version(void);

INTARSIA_EXPORT void intarsia_text_release(char* text);

/* As intarsia_load_plugin, for this library, which has a list of plug-ins of its own: call it before the
 * compiles and checks that use the plug-in's devices. intarsia_compile.hpp does. */
INTARSIA_EXPORT intarsia_error* intarsia_compile_load_plugin(const char* path);

/* A list of zero-terminated strings; all zero is the empty list. */
typedef struct intarsia_strings {
  const char* const* items;
  size_t count;
} intarsia_strings;

/* How to compile. All zero except struct_size and `model`: for the CPU, with all backends. */
typedef struct intarsia_compile_request {
  size_t struct_size;
  const char* model;   /* path of the model: an ONNX file, a frozen GraphDef (.pb), a SavedModel folder */
  const char* program; /* path of the program to write */
  /* "cpu", "cpu:0-1", "opencl:0", "cuda:0", "sim:0", "accel=sim:1" (SLOT=DEVICE), "NAME:0" of a plug-in;
   * none: "cpu". "auto": all devices of this machine but simulations and OpenCL devices that are the
   * processor, of which the program has those that its plan uses. */
  intarsia_strings devices;
  intarsia_strings backends; /* in order of preference; none: all, in the order of intarsia_backends */
  intarsia_strings shapes;   /* "INPUT=1x3x224x224"; sizes that stay open become 1 */
  intarsia_strings pins;     /* "GLOB=BACKEND@SLOT": nodes whose name matches run there; a later one wins */
  /* "auto": frameworks run what none of our backends can; "none": no framework is opened. NULL: "auto" */
  const char* fallback;
  const char* cpu; /* "native", "x86-64-v2", "x86-64-v3", "x86-64-v4"; NULL: "native" */
  /* That a run will use. 0: one for each core that the calling thread may use; where the processor is used as
   * core sets, as many as the largest has */
  int32_t threads;
  intarsia_strings kernels;     /* paths of libraries with kernels of your own (kernel.h) */
  int32_t strip_names;          /* not 0: leave node names out of the program */
  int32_t dry_run;              /* not 0: everything except writing the program */
  intarsia_strings print_after; /* passes whose result goes to `print`; intarsia_pass_names lists them; steps
                                   of a backend are "halide.fuse" */
  const char* stop_after;       /* end after this pass, without a program; NULL: do not */
  /* "fast": algorithms whose error stays under 1e-4 of the largest output; "exact": direct arithmetic only.
   * NULL: "fast" */
  const char* math;
  /* "off": kernels by analytic choice, nodes as placed; "fast", "full": by measured times of few or of many
   * variants, and of plans with more in a framework. For another CPU than this one nothing can be measured.
   * NULL: "fast" */
  const char* tune;
  /* Measure for at most this long, choose the rest analytically; 0: as long as it takes. */
  double tune_seconds;
  const char* cache; /* folder of the measured times; NULL: the user's cache folder */
  /* Of a SavedModel, each becomes a function of its name; none: "serving_default", or all if there is no
   * such signature. */
  intarsia_strings signatures;
  intarsia_strings op_libraries; /* paths of libraries with TensorFlow operators of your own */

  /* Called from the thread of the call; NULL: not called. `user` is passed through. `phase` is what is being
   * done, `done` of `total` is the part of the call that is done, by time; it never goes back. */
  void (*progress)(void* user, const char* phase, int32_t done, int32_t total);
  void (*print)(void* user, const char* text);
  void* user;
  /* Polled several times a second from the thread of the call: not 0 ends the work with the error
   * "interrupted", and nothing is left behind. NULL: never. */
  int32_t (*is_cancelled)(void* user);
  /* Path of a plan (docs/plans.md) that says where each node runs; nothing is measured then. NULL: none. */
  const char* plan;
  /* Path of the file to write the plan of this compile to. NULL: none. */
  const char* save_plan;
  /* Slots of `devices` that must be enough to run the program: where another device is missing, an
   * alternative with these runs. None: all devices that the plan uses must be there. */
  intarsia_strings also;
  /* "SLOT=SIZE", as in "accel=64MB" (a KB is 1024 bytes): what the program may take of the memory that the
   * slot works in, which are its constants there and the working memory of one session. Slots on the host
   * share one memory. A plan that needs less is searched for; if there is none, that is an error that says
   * how much is needed. None: as much as it needs. */
  intarsia_strings memory;
  /* What the plan is for. "latency": a run takes as little time as can be. "throughput": the program has
   * stages, which a pipeline runs side by side, one frame each (docs/stages.md). NULL: "latency". */
  const char* objective;
  /* With "throughput": how many stages, as in "2"; "auto" or NULL: as many as are best. */
  const char* stages;
  /* With "throughput": names of values at which a stage ends. None: the planner cuts. */
  intarsia_strings cuts;
  /* What ships where plans take nearly the same time. "self-contained": a plan that needs no library of a
   * framework, unless another takes at least 3% less; "fastest". NULL: "self-contained". */
  const char* prefer;
  /* "speed": weights may take more than in the model (convolutions by Winograd's algorithm: up to four
   * times), and a plan with frameworks has one without them beside it. "size": neither; what `also` asks for
   * stays. NULL: "speed" */
  const char* optimize;
} intarsia_compile_request;

/* Compiles a model to a program. The program is written whole or not at all. `report` (may be NULL) is the
 * object of `intarsia compile --json`. Errors: the model cannot be read, is invalid, or has operators that no
 * backend runs; an unknown backend, device, pin, input or pass; no plan keeps the limits of `memory`; the
 * program cannot be written. */
INTARSIA_EXPORT intarsia_error* intarsia_compile(const intarsia_compile_request* request, char** report);

/* What runs where, and why, of a model (placed as compiling would, but not compiled) or of a program, named
 * by request->model. Each result may be NULL: the object of `intarsia explain --json`, lines for people, a
 * Graphviz picture. Operators that no backend runs are not an error: their target is "nobody@cpu". */
INTARSIA_EXPORT intarsia_error* intarsia_explain(const intarsia_compile_request* request, char** json,
                                                 char** text, char** dot);

/* Forms of one explanation. Each text is the caller's, who frees it with intarsia_text_release. */
typedef struct intarsia_explanation {
  size_t struct_size;
  char* json;  /* the object of `intarsia explain --json` */
  char* text;  /* lines for people, at most 80 columns wide as far as names allow */
  char* nodes; /* a line a node, which `intarsia explain --nodes` adds to the text */
  char* dot;   /* a Graphviz picture */
  char* html;  /* a page with a picture and tables, in UTF-8, that needs no other file */
} intarsia_explanation;

/* Like intarsia_explain, in all forms. After an error `explanation` is as it was. */
INTARSIA_EXPORT intarsia_error* intarsia_explain_all(const intarsia_compile_request* request,
                                                     intarsia_explanation* explanation);

/* Writes a copy of the ONNX model request->model to `path`, whole or not at all, in which the metadata of
 * each node says where the plan that intarsia_explain shows runs it (docs/plans.md): compiling the copy gives
 * this plan. With request->plan it is that plan. Nothing else of the file changes; weights in other files
 * stay there, so that the copy must be in the same folder. Errors: the model is not ONNX, or a node has no
 * backend; `path` is one of the files that are read; a node of the plan is not in the file as one of its own,
 * for example in a function that runs on several targets; the model would have more than 2 GB. */
INTARSIA_EXPORT intarsia_error* intarsia_annotate(const intarsia_compile_request* request, const char* path);

/* Cuts the ONNX model request->model at `cut_count` values into models of their own: writes `stage0.onnx`,
 * `stage1.onnx`, ... with their weights into `folder`, which is made, and `pipeline.json`, the pipeline of
 * the programs `stage0.so`, ... that they are compiled to, each with options of its own
 * (intarsia_pipeline_read). A stage holds what its value depends on and no earlier stage has; what no cut
 * depends on is the last one. Inputs and outputs of stages have the names of the model's values. Of the
 * request only model, shapes, outputs, progress and cancelling count. Types are inferred first, as compiling
 * does, and what depends on no input becomes a constant. *json: the object of `intarsia split --json`, which
 * the caller frees with intarsia_text_release; may be NULL. Errors: the model is not ONNX; no cut, or one
 * that cuts nothing off; a stage with more than 2 GiB of weights; a file that cannot be written. */
INTARSIA_EXPORT intarsia_error* intarsia_split(const intarsia_compile_request* request,
                                               const char* const* cuts, size_t cut_count, const char* folder,
                                               char** json);

typedef struct intarsia_check_request {
  size_t struct_size;
  const char* path;  /* a model, which is compiled first, or a program */
  const char* model; /* what a program is compared with; NULL: the model that it was compiled from */
  /* "onnxruntime", "tensorflow", "reference"; NULL: the model's own framework if it is available and runs the
   * model, else "reference". */
  const char* against;
  double rtol, atol;             /* floats may differ by atol + rtol * max|reference|; negative: 1e-3, 1e-5 */
  const intarsia_tensor* inputs; /* input_count of them; all others are filled */
  size_t input_count;
  const intarsia_compile_request* compile; /* how to compile a model (its paths are ignored); may be NULL */
  const intarsia_binding* bindings;        /* binding_count of them: of the slots */
  size_t binding_count;
  /* Not 0: after a mismatch, look for the first node whose value is wrong, by compiling parts of the model
   * (for a program, its model again); a failure of that is a warning in the report. */
  int32_t bisect;
} intarsia_check_request;

/* Runs a model or program and another runtime on the same inputs and compares: the preferred plan and every
 * alternative that can run here, each by itself. `ok` becomes 1 or 0, `report` (may be NULL) the object of
 * `intarsia check --json`. A mismatch is not an error. */
INTARSIA_EXPORT intarsia_error* intarsia_check(const intarsia_check_request* request, int32_t* ok,
                                               char** report);

/* Compares floats by atol + rtol * max|reference| (negative: 1e-3, 1e-5), everything else for equality. `ok`
 * becomes 1 or 0, `report` (may be NULL) is an entry of `outputs` of `intarsia check --json`, named like the
 * reference. */
INTARSIA_EXPORT intarsia_error* intarsia_compare(const intarsia_tensor* actual,
                                                 const intarsia_tensor* reference, double rtol, double atol,
                                                 int32_t* ok, char** report);

/* ---- Measuring ---- */

/* 1 when `threads` threads run side by side now, each on its own core, else 0. Other programs take cores
 * away; two cores of a virtual machine may be hyperthreads of one for a while. Computes for up to a
 * millisecond.
 */
INTARSIA_EXPORT int32_t intarsia_has_free_cores(int32_t threads);

/* ---- Peers: other runtimes, to compare speed with ----
 * A peer takes whatever cores and memory it wants: open it in a separate process. */

/* A model opened in another runtime, with its inputs. One call at a time, but for intarsia_peer_run_lane. */
typedef struct intarsia_peer intarsia_peer;

typedef struct intarsia_peer_request {
  size_t struct_size;
  const char* runtime; /* "onnxruntime", "openvino", "tensorflow" (of the model's own kind) */
  /* NULL: for the shortest time of one run. "throughput" (onnxruntime, openvino): for the most runs in a
   * time, several at once; onnxruntime has a session for every `threads` cores of the calling thread, held to
   * them, openvino divides these cores by itself. For openvino also "latency_hint" (as NULL) and
   * "one_stream": how it divides the threads of one run. */
  const char* configuration;
  const char* model; /* path of the model file */
  int32_t threads;   /* of a run, the caller's included; at least 1 */
  /* input_count of them: all of the model's inputs. Their data is used in place and must outlive the peer;
   * sizes that the model leaves open become theirs. */
  const intarsia_tensor* inputs;
  size_t input_count;
  const char* signature;         /* of a SavedModel; NULL: "serving_default", or the only one */
  intarsia_strings op_libraries; /* paths of libraries with TensorFlow operators of your own */
} intarsia_peer_request;

/* Opens a model in f32. Give it back with intarsia_peer_close. Errors: the
 * runtime is not on this machine, or does not take the model, the inputs or the number of threads. */
INTARSIA_EXPORT intarsia_error* intarsia_peer_open(const intarsia_peer_request* request,
                                                   intarsia_peer** peer);
INTARSIA_EXPORT void intarsia_peer_close(intarsia_peer* peer);

/* "1.31.1", of the runtime. Lives as long as the peer. */
INTARSIA_EXPORT const char* intarsia_peer_version(const intarsia_peer* peer);

INTARSIA_EXPORT intarsia_error* intarsia_peer_run(intarsia_peer* peer);

/* How many runs may be at a time, each in a lane of its own; 1 unless opened for throughput. */
INTARSIA_EXPORT size_t intarsia_peer_lane_count(const intarsia_peer* peer);
/* A run in a lane, which counts from 0 (intarsia_peer_run: in lane 0). Runs in different lanes may be at the
 * same time, from different threads. */
INTARSIA_EXPORT intarsia_error* intarsia_peer_run_lane(intarsia_peer* peer, size_t lane);

/* Outputs of the last run in lane 0, in the model's order, counted from 0. Release what intarsia_peer_output
 * fills in with intarsia_tensor_release before the next run; its name lives until then, too. */
INTARSIA_EXPORT intarsia_error* intarsia_peer_output_count(intarsia_peer* peer, size_t* count);
INTARSIA_EXPORT intarsia_error* intarsia_peer_output(intarsia_peer* peer, size_t i, intarsia_tensor* output);

/* The backends, in order of preference: {"backends":[{"name","version","present","why"}]}. */
INTARSIA_EXPORT intarsia_error* intarsia_backends(char** json);

/* {"passes":["import",...]}: the names that print_after and stop_after take, in order. */
INTARSIA_EXPORT intarsia_error* intarsia_pass_names(char** json);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTARSIA_INTARSIA_COMPILE_H_ */
