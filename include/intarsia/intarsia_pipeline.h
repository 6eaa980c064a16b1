/* Intarsia: pipelines. Frames (the inputs of one run) go through stages that work at the same time, each in
 * its own threads: while one frame is in the second stage, the next one is in the first. A stage is a
 * function of a program, or a function of yours. The rules of intarsia.h apply here, too; in addition:
 *  - One thread at a time may use a builder, any number of threads a pipeline.
 *  - Frames leave in the order in which they were pushed, each once, including those that failed.
 */
#ifndef INTARSIA_INTARSIA_PIPELINE_H_
#define INTARSIA_INTARSIA_PIPELINE_H_

#include <intarsia/intarsia.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Stages and connections ---- */

typedef struct intarsia_pipeline_builder intarsia_pipeline_builder;

INTARSIA_EXPORT intarsia_error* intarsia_pipeline_builder_create(intarsia_pipeline_builder** builder);
/* Releases a builder with the stages that no pipeline has taken. */
INTARSIA_EXPORT void intarsia_pipeline_builder_release(intarsia_pipeline_builder* builder);

/* Adds a function (NULL: the only one) of a program as a stage; its ports are the function's inputs and
 * outputs. options are those of intarsia_program_bind, may be NULL. Bind each stage to its own cores
 * ("cpu:0", "cpu:1"), or they compete. Errors: those of intarsia_program_bind, the name is taken, or the
 * function has inputs or outputs that are not tensors. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_program(intarsia_pipeline_builder* builder,
                                                              const char* stage,
                                                              const intarsia_program* program,
                                                              const char* function,
                                                              const intarsia_bind_options* options);
/* Adds the stages that a function (NULL: the only one) was compiled with (`intarsia compile --objective
 * throughput`), as "stage0", "stage1", ..., each on the executors that it was compiled for; a function
 * without stages becomes one stage. Replicas whose device is missing are out of service
 * (intarsia_pipeline_replica); if a stage has no other replica, a function with alternatives becomes one
 * stage that runs like a session. Stages share code and constants with each other and with sessions of the
 * program. After an error the builder may have some of the stages. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_stages(intarsia_pipeline_builder* builder,
                                                             const intarsia_program* program,
                                                             const char* function);
/* Adds another session to a stage that is a program: both share its frames, which keep their order. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_replica(intarsia_pipeline_builder* builder,
                                                              const char* stage,
                                                              const intarsia_bind_options* options);

/* Adds a session of a function (NULL: the only one) of another program, compiled for a different device, as a
 * replica; its inputs and outputs must be those of the stage, or the pipeline does not start. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_replica_program(intarsia_pipeline_builder* builder,
                                                                      const char* stage,
                                                                      const intarsia_program* program,
                                                                      const char* function,
                                                                      const intarsia_bind_options* options);

/* Frame in a stage of yours; valid during the call. */
typedef struct intarsia_stage_call intarsia_stage_call;

/* Function that the stage's threads call for each frame, with the inputs in the order of their declaration,
 * to be read until it returns. It provides each output with intarsia_stage_call_allocate or
 * intarsia_stage_call_give, or says with intarsia_stage_call_fail why it cannot: that becomes the frame's
 * error, and the pipeline goes on. It must not throw. */
typedef void (*intarsia_stage_run)(void* user, intarsia_stage_call* call, const intarsia_tensor* inputs,
                                   size_t input_count);
typedef void (*intarsia_release)(void* user);

typedef struct intarsia_stage_function {
  size_t struct_size;
  const char* name;          /* name of the stage */
  const char* const* inputs; /* input_count names */
  size_t input_count;
  const char* const* outputs; /* output_count names */
  size_t output_count;
  /* Cores that its threads are pinned to: "0", "2-5"; NULL: those of the thread that starts the pipeline. */
  const char* cores;
  uint32_t thread_count; /* threads that call run at once, at most 1024; 0: one */
  intarsia_stage_run run;
  void* user; /* passed through */
  /* Called with user after the last use by a thread, if the stage was added; may be NULL. */
  intarsia_release release;
  /* Whether (not 0) `run` is never called twice for a frame; if 0, a frame for which it failed may go to
   * another of its threads (intarsia_replica_statistics). */
  int32_t never_repeats;
} intarsia_stage_function;

/* Adds a function of yours as a stage. Errors: the name is taken, or this process may not use the cores. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_add_function(intarsia_pipeline_builder* builder,
                                                               const intarsia_stage_function* stage);

/* Returns the frame's number, counted from 0. */
INTARSIA_EXPORT uint64_t intarsia_stage_call_frame(const intarsia_stage_call* call);
/* Allocates memory of an output, counted from 0, for the stage to fill in: 64-byte aligned, uninitialized,
 * reused by later frames. Not for strings. */
INTARSIA_EXPORT intarsia_error* intarsia_stage_call_allocate(intarsia_stage_call* call, size_t output,
                                                             int32_t dtype, size_t rank, const int64_t* shape,
                                                             void** data);
/* Gives a tensor of the stage as an output: copied if release is NULL, else used in place until release(user)
 * is called, by any thread. Strings are always copied, and release is called before this returns. */
INTARSIA_EXPORT intarsia_error* intarsia_stage_call_give(intarsia_stage_call* call, size_t output,
                                                         const intarsia_tensor* value,
                                                         intarsia_release release, void* user);
/* Keeps an input, counted from 0, beyond the call: fills in `kept` like an output of a run, without a copy.
 * Release it with intarsia_tensor_release. Only read its memory, since other stages may read it, too. */
INTARSIA_EXPORT intarsia_error* intarsia_stage_call_keep(intarsia_stage_call* call, size_t input,
                                                         intarsia_tensor* kept);
/* Fails the frame with this message. */
INTARSIA_EXPORT void intarsia_stage_call_fail(intarsia_stage_call* call, const char* message);
/* Drops the frame for this reason: later stages skip it, and its pop returns INTARSIA_ERROR_DROPPED. Not
 * counted as an error of the stage. */
INTARSIA_EXPORT void intarsia_stage_call_drop(intarsia_stage_call* call, const char* reason);

/* Policies for a frame that comes to a full queue. */
enum {
  INTARSIA_QUEUE_DEFAULT = 0,     /* policy of the pipeline; for a pipeline: INTARSIA_QUEUE_BLOCK */
  INTARSIA_QUEUE_BLOCK = 1,       /* waits for room, and so does everything before the queue */
  INTARSIA_QUEUE_DROP_OLDEST = 2, /* drops the frame that has waited longest */
  INTARSIA_QUEUE_LATEST = 3       /* drops likewise, in a queue of one frame */
};

typedef struct intarsia_stage_options {
  size_t struct_size;
  int32_t queue; /* policy of the queue before the stage, INTARSIA_QUEUE_... */
  /* Whether (not 0) items (scatter) among its inputs come together, as one tensor with the rows of all of
   * them (axis 0), in order; without items it has 0 rows, and is f32 [0] where no port specifies its type. */
  int32_t gather;
  /* Outputs, scatter_count names, that consist of zero or more items of a frame: one per row (axis 0, which
   * has size 1 in an item; at most 65536). Stages that read items run once per item, and so do those that
   * read their outputs, until a stage gathers or the pipeline ends, whose outputs have the rows of all items.
   * Replicas share the items of a frame; a failed item is the frame's error. All scattered outputs must have
   * the same number of rows. */
  const char* const* scatter;
  size_t scatter_count;
} intarsia_stage_options;
/* Sets the options of a stage that was added; names in them are looked up when the pipeline starts. Errors:
 * there is no such stage, or the queue is not one of INTARSIA_QUEUE_... */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_set_stage_options(intarsia_pipeline_builder* builder,
                                                                    const char* stage,
                                                                    const intarsia_stage_options* options);

/* Connects an output of a stage (from NULL: an input of the pipeline, which this names) to an input of a
 * stage (to NULL: an output of the pipeline, which this names). Several stages may read a value, and any
 * later one. Names are looked up when the pipeline starts. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_connect(intarsia_pipeline_builder* builder,
                                                          const char* from, const char* output,
                                                          const char* to, const char* input);
/* Connects what is not connected yet: each input of a stage to the output of the same name of the last stage
 * added earlier that has one, else to the pipeline's input of that name. Outputs that no stage reads become
 * the pipeline's. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_connect_by_name(intarsia_pipeline_builder* builder);

/* Adds the stages and connections of a JSON file (docs/pipelines.md), and takes its depth, timeout, deadline
 * and queue policy as defaults of intarsia_pipeline_start. Paths in it are relative to its folder. Errors
 * name the file and the entry; the builder may then have some of the stages. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_read(intarsia_pipeline_builder* builder, const char* path);

/* ---- Running ---- */

typedef struct intarsia_pipeline intarsia_pipeline;

/* Work of a stage on a frame (frames that come with an error only pass through), or a step of that work. */
typedef struct intarsia_frame_event {
  size_t struct_size;
  const char* stage;
  uint32_t replica; /* counted from 0 */
  uint64_t frame;
  int64_t begin_ns; /* time of a steady clock */
  int64_t end_ns;
  /* NULL for the stage's run of the whole frame, else a step of its session within the frame, as in
   * intarsia_trace_event (intarsia.h). */
  const char* name;
  const char* kind;
  const char* device;
} intarsia_frame_event;
/* Callback that the threads of stages and devices call, one at a time, and not after the pipeline was
 * cancelled or released; `event` is valid during the call. */
typedef void (*intarsia_frame_trace)(void* user, const intarsia_frame_event* event);

typedef struct intarsia_pipeline_options {
  size_t struct_size;
  uint32_t depth; /* length of each queue, before a stage or before the pop, in frames; 0: the default, 2 */
  int64_t timeout_ns;         /* timeout of a frame, from its push; 0: none */
  intarsia_frame_trace trace; /* may be NULL */
  void* user;                 /* passed to trace */
  int32_t traces_steps;       /* whether (not 0) trace also gets steps of sessions, which costs them time */
  int32_t queue; /* policy (INTARSIA_QUEUE_...) of the last queue and of stages without their own */
  /* Time from a frame's push after which stages do not start on it: it is dropped. 0: none. A timeout, in
   * contrast, reports an error as soon as it expires. */
  int64_t deadline_ns;
} intarsia_pipeline_options;

/* Starts the stages' threads; they take the stages from the builder, which is then empty. options may be
 * NULL. Release the pipeline with intarsia_pipeline_release. Errors, which leave the builder unchanged: no
 * stage, a name that does not exist or occurs twice, a port that is connected twice or never, types that
 * differ, a cycle. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_start(intarsia_pipeline_builder* builder,
                                                        const intarsia_pipeline_options* options,
                                                        intarsia_pipeline** pipeline);
/* Cancels the pipeline and returns at once: a stage that is running a frame finishes it in the background,
 * then frees itself. */
INTARSIA_EXPORT void intarsia_pipeline_release(intarsia_pipeline* pipeline);

typedef struct intarsia_pipeline_info {
  size_t struct_size;
  size_t input_count;
  size_t output_count;
  size_t stage_count;
} intarsia_pipeline_info;
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_describe(const intarsia_pipeline* pipeline,
                                                           intarsia_pipeline_info* info);
/* Fill in a struct whose struct_size the caller has set; values that a function of yours produces or reads
 * have dtype INTARSIA_UNDEFINED and rank -1. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_input(const intarsia_pipeline* pipeline, size_t input,
                                                        intarsia_argument* info);
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_output(const intarsia_pipeline* pipeline, size_t output,
                                                         intarsia_argument* info);

/* Owner of a frame's inputs: any thread calls release(user), once, when no stage reads them anymore. */
typedef struct intarsia_frame_owner {
  intarsia_release release;
  void* user;
} intarsia_frame_owner;

/* Pushes a frame; waits for room, at most wait_ns (negative: forever, 0: not at all). Give all inputs of the
 * pipeline, in any order; they are copied before this returns (owner NULL), or used in place and released by
 * the owner, which is not called if this fails or the queue stays full. Sets *pushed (may be NULL) to 1, or
 * to 0 if the queue stayed full, and *frame (may be NULL) to the frame's number, counted from 0. Errors: an
 * input is missing or unknown, or the pipeline is finished (INTARSIA_ERROR_INVALID_ARGUMENT) or cancelled
 * (INTARSIA_ERROR_CANCELLED). Inputs of a wrong dtype or shape are an error of the frame. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_push(intarsia_pipeline* pipeline, int64_t wait_ns,
                                                       const intarsia_tensor* inputs, size_t input_count,
                                                       const intarsia_frame_owner* owner, int32_t* pushed,
                                                       uint64_t* frame);

typedef struct intarsia_frame_options {
  size_t struct_size;
  int64_t deadline_ns; /* deadline of this frame, as in intarsia_pipeline_options; 0: the pipeline's */
  int64_t timestamp;   /* number, in any unit, that comes back with the frame (intarsia_frame) */
  void* user;          /* comes back likewise, but not if the pipeline is cancelled or released */
} intarsia_frame_options;
/* Pushes like intarsia_pipeline_push, with options, which may be NULL. Where queues drop frames, it waits
 * while 65536 are inside, counting those that were dropped and not yet popped. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_push_frame(intarsia_pipeline* pipeline, int64_t wait_ns,
                                                             const intarsia_tensor* inputs,
                                                             size_t input_count,
                                                             const intarsia_frame_owner* owner,
                                                             const intarsia_frame_options* options,
                                                             int32_t* pushed, uint64_t* frame);

enum {
  INTARSIA_POP_FRAME = 0, /* a frame, or its error */
  INTARSIA_POP_NONE = 1,  /* wait over without a frame */
  INTARSIA_POP_ENDED = 2  /* end of the frames: finished and empty, or cancelled */
};

typedef struct intarsia_frame {
  size_t struct_size;
  int32_t state;     /* result of the pop, INTARSIA_POP_... */
  uint64_t number;   /* counted from 0 */
  int64_t pushed_ns; /* time of a steady clock */
  int64_t done_ns;   /* end of its last stage; 0 if it timed out */
  int64_t timestamp; /* timestamp given with its push; 0 if none */
  void* user;        /* pointer given with its push; NULL if none */
} intarsia_frame;

/* Pops the next frame; waits for it at most wait_ns (negative: forever, 0: not at all). Outputs are requested
 * and given as in intarsia_session_run; the caller's buffers are copied into. An error is the frame's: it
 * names the frame and the stage, and `frame` is filled in; other frames are not affected. A frame that is not
 * done within the timeout has INTARSIA_ERROR_TIMED_OUT; later frames wait until the stage that has it
 * returns, since a running kernel cannot be stopped. A frame that was dropped has INTARSIA_ERROR_DROPPED. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_pop(intarsia_pipeline* pipeline, int64_t wait_ns,
                                                      intarsia_tensor* outputs, size_t output_count,
                                                      intarsia_frame* frame);

/* Declares that no more frames will be pushed: those inside go on, and after the last one pop returns
 * INTARSIA_POP_ENDED. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_finish(intarsia_pipeline* pipeline);
/* Drops the frames inside; returns at once (intarsia_pipeline_release). */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_cancel(intarsia_pipeline* pipeline);

/* Statistics of a stage since the pipeline started. */
typedef struct intarsia_stage_statistics {
  size_t struct_size;
  const char* name; /* lives as long as the pipeline */
  uint32_t replicas;
  uint64_t frames;    /* frames that it ran */
  uint64_t errors;    /* frames that it failed */
  int64_t busy_ns;    /* time of running, of all replicas */
  int64_t waiting_ns; /* time of waiting for frames */
  int64_t blocked_ns; /* time of waiting for room behind it, or for an earlier frame in another replica */
  size_t queued;      /* frames that wait before it now */
  size_t most_queued;
  uint32_t running; /* replicas that have a frame now */
  uint64_t dropped; /* frames dropped by the queue before it, before it for their deadline, or by it */
} intarsia_stage_statistics;
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_stage(const intarsia_pipeline* pipeline, size_t stage,
                                                        intarsia_stage_statistics* statistics);

/* Counts of a pipeline's frames since it started. */
typedef struct intarsia_frame_statistics {
  size_t struct_size;
  uint64_t pushed;
  uint64_t done;      /* popped frames that worked */
  uint64_t errors;    /* popped frames that failed */
  uint64_t dropped;   /* popped frames that were dropped */
  uint64_t timed_out; /* popped frames that were not done within the timeout */
} intarsia_frame_statistics;
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_frames(const intarsia_pipeline* pipeline,
                                                         intarsia_frame_statistics* statistics);

/* Kinds of times in a histogram. */
enum {
  /* Times of popped frames that worked, from the push to the end of the last stage. */
  INTARSIA_TIMES_LATENCY = 0,
  INTARSIA_TIMES_RUN = 1, /* times of a stage's runs */
  INTARSIA_TIMES_WAIT = 2 /* times in the queue before a stage, of the frames that it took */
};
enum { INTARSIA_TIME_BUCKETS = 104 };

/* Histogram of times since the pipeline started: four buckets per doubling from 1 us on, so that a time is
 * known to 25%. */
typedef struct intarsia_time_histogram {
  size_t struct_size;
  uint64_t counts[INTARSIA_TIME_BUCKETS];
} intarsia_time_histogram;
/* Returns the upper bound of a bucket in nanoseconds: times in it are shorter, and at least as long as the
 * bound of the previous one. INT64_MAX for the last bucket and beyond. */
INTARSIA_EXPORT int64_t intarsia_time_bucket_bound_ns(size_t bucket);
/* Fills in a histogram. `which` is one of INTARSIA_TIMES_...; `stage` counts from 0, and is ignored for times
 * of the pipeline. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_times(const intarsia_pipeline* pipeline, int32_t which,
                                                        size_t stage, intarsia_time_histogram* histogram);

/* Statistics of a replica of a stage, where a run for an item counts as a frame. A replica that fails with
 * INTARSIA_ERROR_DEVICE_LOST goes out of service, and so does one that fails with
 * INTARSIA_ERROR_OUT_OF_MEMORY or twice in a row while another is in service; errors that the caller is to
 * blame for (INTARSIA_ERROR_INVALID_ARGUMENT) do not count. Another replica runs its frame again, from the
 * same inputs. It is recreated and tried again after 0.1 s, and after each failed try with twice the delay,
 * at most 10 s. If no replica is in service, frames fail at once, with an error that says why. */
typedef struct intarsia_replica_statistics {
  size_t struct_size;
  int64_t in_service; /* whether (not 0) it is in service */
  uint64_t frames;    /* frames that it ran */
  uint64_t errors;    /* frames that it failed */
  uint64_t repeats;   /* frames that it ran after another replica had failed them */
  const char* reason; /* why it is out of service, or last was; "" if it never was */
  const char* note;   /* difference from how it was compiled, if any: "runs alternative 1 on ..."; else "" */
} intarsia_replica_statistics;
/* Fills in statistics of a replica; stage and replica count from 0. Strings live as long as the pipeline. */
INTARSIA_EXPORT intarsia_error* intarsia_pipeline_replica(const intarsia_pipeline* pipeline, size_t stage,
                                                          size_t replica,
                                                          intarsia_replica_statistics* statistics);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTARSIA_INTARSIA_PIPELINE_H_ */
