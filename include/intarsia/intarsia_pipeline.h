/* Intarsia: pipelines. Frames (the inputs of one run) go through stages that work at the same time, each in
 * threads of its own: while one frame is in the second stage, the next is in the first. A stage is a function
 * of a program, or a function of yours. The rules of intarsia.h hold here, too; in addition:
 *  - A builder is used by one thread at a time, a pipeline by any number of threads at once.
 *  - Frames leave in the order in which they were pushed, each once, also those that failed.
 */
#ifndef INTARSIA_INTARSIA_PIPELINE_H_
#define INTARSIA_INTARSIA_PIPELINE_H_

#include <intarsia/intarsia.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a pipeline is made of ---- */

typedef struct intarsia_pipeline_builder intarsia_pipeline_builder;

INTARSIA_EXPORT intarsia_error* intarsia_pipeline_builder_create(intarsia_pipeline_builder** builder);
/* With the stages that no pipeline has taken. */
INTARSIA_EXPORT void intarsia_pipeline_builder_release(intarsia_pipeline_builder* builder);

/* A function (NULL: the only one) of a program as a stage; its ports are the function's inputs and outputs.
 * options as in intarsia_program_bind, may be NULL. Bind each stage to cores of its own ("cpu:0", "cpu:1"),
 * or they compete. Errors: as intarsia_program_bind, the name is taken, or the function has inputs or outputs
 * that are not tensors. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_program(intarsia_pipeline_builder* builder,
                                                              const char* stage,
                                                              const intarsia_program* program,
                                                              const char* function,
                                                              const intarsia_bind_options* options);
/* The stages that a function (NULL: the only one) was compiled with (`intarsia compile --objective
 * throughput`), as "stage0", "stage1", ..., each on the executors that it was compiled for; a function
 * without stages is one. Their code and constants are there once, also beside sessions of the program. On an
 * error the builder may have some of them. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_stages(intarsia_pipeline_builder* builder,
                                                             const intarsia_program* program,
                                                             const char* function);
/* Another session of a stage that is a program: the two share its frames, which keep their order. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_replica(intarsia_pipeline_builder* builder,
                                                              const char* stage,
                                                              const intarsia_bind_options* options);

/* The same of a function (NULL: the only one) of another program, compiled for an unlike device; its inputs
 * and outputs are those of the stage, or the pipeline does not start. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_replica_program(intarsia_pipeline_builder* builder,
                                                                      const char* stage,
                                                                      const intarsia_program* program,
                                                                      const char* function,
                                                                      const intarsia_bind_options* options);

/* One frame in a stage of yours; valid during the call. */
typedef struct intarsia_stage_call intarsia_stage_call;

/* Called by the stage's threads for each frame, with the inputs in the order of their declaration, to be read
 * until it returns. It gives each output by intarsia_stage_call_allocate or intarsia_stage_call_give, or says
 * by intarsia_stage_call_fail why it cannot: that is then the frame's error, and the pipeline goes on. It
 * must not throw. */
typedef void (*intarsia_stage_run)(void* user, intarsia_stage_call* call, const intarsia_tensor* inputs,
                                   size_t input_count);
typedef void (*intarsia_release)(void* user);

typedef struct intarsia_stage_function {
  size_t struct_size;
  const char* name;          /* of the stage */
  const char* const* inputs; /* input_count names */
  size_t input_count;
  const char* const* outputs; /* output_count names */
  size_t output_count;
  const char* cores; /* "0", "2-5": that its threads are held to; NULL: those of the thread that starts it */
  uint32_t thread_count; /* that call run at once, at most 1024; 0: one */
  intarsia_stage_run run;
  void* user; /* passed through */
  intarsia_release
      release; /* called with user when no thread uses it any more, once it is added; may be NULL */
} intarsia_stage_function;

INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_function(intarsia_pipeline_builder* builder,
                                                               const intarsia_stage_function* stage);

/* The frame's number, counted from 0. */
INTARSIA_EXPORT uint64_t intarsia_stage_call_frame(const intarsia_stage_call* call);
/* Memory of an output, which counts from 0, for the stage to fill in: 64-byte aligned, of any content, used
 * again by later frames. Not for strings. */
INTARSIA_EXPORT intarsia_error* intarsia_stage_call_allocate(intarsia_stage_call* call, size_t output,
                                                             int32_t dtype, size_t rank, const int64_t* shape,
                                                             void** data);
/* A tensor that the stage has: copied where release is NULL, else used in place until release(user) is
 * called, by any thread. Strings are always copied, and release called before this returns. */
INTARSIA_EXPORT intarsia_error* intarsia_stage_call_give(intarsia_stage_call* call, size_t output,
                                                         const intarsia_tensor* value,
                                                         intarsia_release release, void* user);
/* An input, which counts from 0, to keep beyond the call: fills in `kept` as an output of a run, without a
 * copy. Give it back with intarsia_tensor_release. Its memory is only read, as other stages may read it, too.
 */
INTARSIA_EXPORT intarsia_error* intarsia_stage_call_keep(intarsia_stage_call* call, size_t input,
                                                         intarsia_tensor* kept);
INTARSIA_EXPORT void intarsia_stage_call_fail(intarsia_stage_call* call, const char* message);

/* Connects an output of a stage (from NULL: an input of the pipeline, which this names) with an input of a
 * stage (to NULL: an output of the pipeline, which this names). A value may be read by several stages, and by
 * any later one. Names are looked up when the pipeline starts. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_connect(intarsia_pipeline_builder* builder,
                                                          const char* from, const char* output,
                                                          const char* to, const char* input);
/* Connects what is not connected yet: each input of a stage to the output of its name of the last stage added
 * before that has one, else to the pipeline's input of its name. Outputs that nobody reads become the
 * pipeline's. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_connect_by_name(intarsia_pipeline_builder* builder);

/* Adds the stages and connections of a JSON file (docs/pipelines.md), and takes its depth and time-out for
 * intarsia_pipeline_start. Paths in it are relative to its folder. Errors name the file and the entry; the
 * builder may then have some of the stages. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_read(intarsia_pipeline_builder* builder, const char* path);

/* ---- Running ---- */

typedef struct intarsia_pipeline intarsia_pipeline;

/* What a stage did with a frame (those that came with an error only pass through it), or within it. */
typedef struct intarsia_frame_event {
  size_t struct_size;
  const char* stage;
  uint32_t replica; /* from 0 */
  uint64_t frame;
  int64_t begin_ns; /* of a steady clock */
  int64_t end_ns;
  /* NULL: the stage ran the whole frame then. Else what its session did within the frame, as in
   * intarsia_trace_event (intarsia.h). */
  const char* name;
  const char* kind;
  const char* device;
} intarsia_frame_event;
/* Called by the threads of stages and devices, one at a time, and not after the pipeline was cancelled or
 * released; `event` is valid during the call. */
typedef void (*intarsia_frame_trace)(void* user, const intarsia_frame_event* event);

typedef struct intarsia_pipeline_options {
  size_t struct_size;
  uint32_t depth;     /* of each queue: frames that wait before a stage, or to be popped; 0: the default, 2 */
  int64_t timeout_ns; /* of a frame, from its push; 0: none */
  intarsia_frame_trace trace; /* may be NULL */
  void* user;                 /* for trace */
  int32_t traces_steps; /* not 0: trace also gets what sessions do within frames, which costs them time */
} intarsia_pipeline_options;

/* Starts the stages' threads; they take the stages from the builder, which is then empty. options may be
 * NULL. Errors: no stage, a name that does not exist or is there twice, a port that is connected twice or
 * never, types that differ, a cycle. The builder is then as it was. Give it back with
 * intarsia_pipeline_release. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_start(intarsia_pipeline_builder* builder,
                                                        const intarsia_pipeline_options* options,
                                                        intarsia_pipeline** pipeline);
/* Cancels, and returns at once: a stage that is in a frame goes on in the background to the end of that
 * frame, then frees itself. */
INTARSIA_EXPORT void intarsia_pipeline_release(intarsia_pipeline* pipeline);

typedef struct intarsia_pipeline_info {
  size_t struct_size;
  size_t input_count;
  size_t output_count;
  size_t stage_count;
} intarsia_pipeline_info;
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_describe(const intarsia_pipeline* pipeline,
                                                           intarsia_pipeline_info* info);
/* Fill in a struct whose struct_size the caller has set; what a function of yours makes or reads has dtype
 * INTARSIA_UNDEFINED and rank -1. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_input(const intarsia_pipeline* pipeline, size_t input,
                                                        intarsia_argument* info);
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_output(const intarsia_pipeline* pipeline, size_t output,
                                                         intarsia_argument* info);

/* Who frees a frame's inputs: release(user), called once by any thread when no stage reads them any more. */
typedef struct intarsia_frame_owner {
  intarsia_release release;
  void* user;
} intarsia_frame_owner;

/* Waits until there is room, at most wait_ns (negative: without end, 0: not at all). All inputs of the
 * pipeline, in any order; they are copied before this returns (owner NULL), or used in place and released by
 * the owner, which is not called when this fails or the queue stays full. Sets *pushed (may be NULL) to 1, or
 * to 0 where it did, and *frame (may be NULL) to the frame's number, counted from 0. Errors: an input is
 * missing or unknown, or the pipeline is finished (INTARSIA_ERROR_INVALID_ARGUMENT) or cancelled
 * (INTARSIA_ERROR_CANCELLED). Inputs of a wrong dtype or shape are an error of the frame. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_push(intarsia_pipeline* pipeline, int64_t wait_ns,
                                                       const intarsia_tensor* inputs, size_t input_count,
                                                       const intarsia_frame_owner* owner, int32_t* pushed,
                                                       uint64_t* frame);

enum {
  INTARSIA_POP_FRAME = 0, /* a frame, or its error */
  INTARSIA_POP_NONE = 1,  /* none within the time */
  INTARSIA_POP_ENDED = 2  /* none comes any more: finished and empty, or cancelled */
};

typedef struct intarsia_frame {
  size_t struct_size;
  int32_t state;     /* INTARSIA_POP_... */
  uint64_t number;   /* counted from 0 */
  int64_t pushed_ns; /* of a steady clock */
  int64_t done_ns;   /* when its last stage was done; 0: it timed out */
} intarsia_frame;

/* The next frame; waits for it at most wait_ns (negative: without end, 0: not at all). Outputs are requested
 * and given as in intarsia_session_run; a buffer of the caller's is copied into. An error is the frame's: it
 * names the frame and the stage, and `frame` is filled in; other frames are not touched. A frame that is not
 * done within the time-out has INTARSIA_ERROR_TIMED_OUT; those after it wait until the stage that has it
 * returns, as a kernel that runs cannot be stopped. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_pop(intarsia_pipeline* pipeline, int64_t wait_ns,
                                                      intarsia_tensor* outputs, size_t output_count,
                                                      intarsia_frame* frame);

/* Says that no more frames are pushed: those inside go on, and after the last pop tells INTARSIA_POP_ENDED.
 */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_finish(intarsia_pipeline* pipeline);
/* Drops the frames inside; returns at once (intarsia_pipeline_release). */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_cancel(intarsia_pipeline* pipeline);

/* Of a stage, since the pipeline started. */
typedef struct intarsia_stage_statistics {
  size_t struct_size;
  const char* name; /* lives as long as the pipeline */
  uint32_t replicas;
  uint64_t frames;    /* that it ran */
  uint64_t errors;    /* of these */
  int64_t busy_ns;    /* running, of all replicas */
  int64_t waiting_ns; /* for frames */
  int64_t blocked_ns; /* for room behind it, or for an earlier frame in another replica */
  size_t queued;      /* frames that wait before it now */
  size_t most_queued;
  uint32_t running; /* replicas that have a frame now */
} intarsia_stage_statistics;
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_stage(const intarsia_pipeline* pipeline, size_t stage,
                                                        intarsia_stage_statistics* statistics);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTARSIA_INTARSIA_PIPELINE_H_ */
