/* Calls of kernels in a program in plain C: descriptions of tensors are on the stack, scratch memory is a
   part of the caller's arena. The program says how large these are: intarsia_most_arguments    arguments of a
   kernel intarsia_most_dimensions   dimensions of all arguments of a kernel together intarsia_most_sizes
   sizes that a kernel takes intarsia_workers           threads that may run tasks of a kernel at a time */
#ifndef INTARSIA_KERNEL_CALLS_H
#define INTARSIA_KERNEL_CALLS_H

#include "halide_abi.h"

/* Parallel loop of the caller: runs task(data, index, worker) for each index from 0 to count - 1, each once,
   and returns when all are done. `worker` is from 0 to intarsia_workers - 1; no two tasks of one worker
   run at the same time. */
typedef void (*intarsia_parallel_for)(void* pool, void (*task)(void* data, int index, int worker), void* data,
                                      int count);

/* Block of scratch memory. Kernels free blocks as soon as they can, so not always in reverse order. */
struct intarsia_block {
  struct intarsia_block* before;
  size_t begin; /* bytes used before it */
  int is_free;
};

/* What the kernels of one worker use during a run. */
struct intarsia_worker {
  struct HalideKernelRuntime table; /* first: kernels get its address */
  struct intarsia_run* run;
  uint8_t* scratch; /* aligned to 64 bytes */
  size_t used;
  struct intarsia_block* last;
};

/* State of a run, on the stack of its caller. */
struct intarsia_run {
  intarsia_parallel_for parallel_for; /* null: tasks run one after the other */
  void* pool;
  size_t scratch_bytes; /* of each worker, for one kernel */
  volatile int has_failed;
  struct intarsia_worker workers[intarsia_workers];
};

enum { intarsia_scratch_alignment = 64 };

static inline struct intarsia_worker* intarsia_worker_of(struct HalideKernelRuntime* table) {
  return (struct intarsia_worker*)(void*)table;
}

/* Kernels may read a vector past the end of a block. */
static inline void* intarsia_allocate(struct HalideKernelRuntime* table, size_t bytes) {
  struct intarsia_worker* const worker = intarsia_worker_of(table);
  const size_t alignment = intarsia_scratch_alignment;
  const size_t whole = (bytes + 2 * alignment - 1) / alignment * alignment + alignment;
  if (whole < bytes || whole > worker->run->scratch_bytes - worker->used) return NULL;
  struct intarsia_block* const block = (struct intarsia_block*)(void*)(worker->scratch + worker->used);
  block->before = worker->last;
  block->begin = worker->used;
  block->is_free = 0;
  worker->last = block;
  worker->used += whole;
  return (uint8_t*)block + alignment;
}

static inline void intarsia_release(struct HalideKernelRuntime* table, void* memory) {
  struct intarsia_worker* const worker = intarsia_worker_of(table);
  if (memory == NULL) return;
  struct intarsia_block* const block =
      (struct intarsia_block*)(void*)((uint8_t*)memory - intarsia_scratch_alignment);
  block->is_free = 1;
  for (; worker->last != NULL && worker->last->is_free; worker->last = worker->last->before)
    worker->used = worker->last->begin;
}

static inline void intarsia_error(struct HalideKernelRuntime* table, const char* message) {
  (void)message;
  intarsia_worker_of(table)->run->has_failed = 1;
}

/* Loop over tasks of a kernel. */
struct intarsia_loop {
  struct intarsia_run* run;
  HalideTask task;
  int min;
  uint8_t* closure;
};

static inline void intarsia_run_task(void* data, int index, int worker) {
  const struct intarsia_loop* const loop = (const struct intarsia_loop*)data;
  if (loop->task(&loop->run->workers[worker].table, loop->min + index, loop->closure) != 0)
    loop->run->has_failed = 1;
}

/* Runs the tasks of a kernel. Tasks that start tasks run these themselves. */
static inline int intarsia_run_tasks(struct HalideKernelRuntime* table, HalideTask task, int min, int size,
                                     uint8_t* closure) {
  struct intarsia_worker* const worker = intarsia_worker_of(table);
  struct intarsia_run* const run = worker->run;
  if (run->parallel_for == NULL || size < 2 || worker != run->workers) {
    for (int i = 0; i < size; ++i) {
      const int status = task(table, min + i, closure);
      if (status != 0) return status;
    }
    return 0;
  }
  struct intarsia_loop loop = {run, task, min, closure};
  const intarsia_parallel_for parallel_for = run->parallel_for;
  run->parallel_for = NULL;
  parallel_for(run->pool, intarsia_run_task, &loop, size);
  run->parallel_for = parallel_for;
  return run->has_failed;
}

/* Starts a run. */
static inline void intarsia_begin(struct intarsia_run* run, intarsia_parallel_for parallel_for, void* pool) {
  run->parallel_for = parallel_for;
  run->pool = pool;
  run->scratch_bytes = 0;
  run->has_failed = 0;
  for (int i = 0; i < intarsia_workers; ++i) {
    const struct intarsia_worker worker = {
        {intarsia_run_tasks, intarsia_allocate, intarsia_release, intarsia_error, NULL, NULL},
        run,
        NULL,
        0,
        NULL};
    run->workers[i] = worker;
  }
}

/* Gives the next kernel scratch memory, that of each worker after that of the one before. */
static inline void intarsia_give_scratch(struct intarsia_run* run, uint8_t* scratch, size_t bytes_of_worker) {
  run->scratch_bytes = bytes_of_worker;
  for (int i = 0; i < intarsia_workers; ++i) run->workers[i].scratch = scratch + (size_t)i * bytes_of_worker;
}

/* Begins a function of which all steps share one copy: compilers would put it into each of few steps. */
#if defined(__GNUC__)
#define INTARSIA_SHARED static __attribute__((noinline, unused))
#else
#define INTARSIA_SHARED static inline
#endif

/* Calls a kernel. `form` has the number of its tensors, that of the sizes it takes, these sizes, then for
   each tensor the code and the bits of its type, its rank, and extent and stride (in elements) of each
   dimension. The tensors are at `addresses`, the output's last. An output without elements is not computed.
   Returns 0, or not 0 if the kernel failed, or a tensor that it reads has no elements. */
INTARSIA_SHARED int intarsia_call(struct intarsia_run* run, int (*kernel)(void**), const int32_t* form,
                                  const void* const* addresses) {
  struct HalideBuffer buffers[intarsia_most_arguments];
  struct HalideDimension dimensions[intarsia_most_dimensions];
  void* arguments[1 + intarsia_most_arguments + intarsia_most_sizes];
  void* context = &run->workers[0].table;
  void** next = arguments;
  struct HalideDimension* dimension = dimensions;
  const int32_t tensors = *form++, sizes = *form++;
  const int32_t* const first_size = form;
  int is_empty = 0, lacks_elements = 0;
  form += sizes;
  *next++ = &context;
  for (int32_t i = 0; i < tensors; ++i) {
    struct HalideBuffer* const buffer = &buffers[i];
    if (i + 1 == tensors)
      for (int32_t k = 0; k < sizes; ++k) *next++ = (void*)(uintptr_t)&first_size[k];
    buffer->device = 0;
    buffer->device_interface = NULL;
    buffer->host = (uint8_t*)(uintptr_t)addresses[i];
    buffer->flags = 0;
    buffer->type.code = (uint8_t)*form++;
    buffer->type.bits = (uint8_t)*form++;
    buffer->type.lanes = 1;
    buffer->dimensions = *form++;
    buffer->dim = dimension;
    buffer->padding = NULL;
    is_empty = 0;
    for (int32_t k = 0; k < buffer->dimensions; ++k, ++dimension) {
      dimension->min = 0;
      dimension->extent = *form++;
      dimension->stride = *form++;
      dimension->flags = 0;
      if (dimension->extent < 0) return -1;
      is_empty |= dimension->extent == 0;
    }
    if (is_empty && i + 1 < tensors) lacks_elements = 1;
    *next++ = buffer;
  }
  if (is_empty) return 0;
  if (lacks_elements) return -1;
  const int status = kernel(arguments);
  run->scratch_bytes = 0;
  return status != 0 ? status : run->has_failed;
}

#ifdef INTARSIA_PROFILE
/* Functions of a program that times kernels: a clock, and what gets the time of each call. `key` is the
   digest of a kernel, the threads and the precision that it is for. */
uint64_t intarsia_clock(void);
void intarsia_called(const char* key, uint64_t clocks);
/* Name of the processor that the kernels are for, its architecture, and the backend that made them, with the
   versions of its library and of its code. */
extern const char* const intarsia_origin[5];

static inline int intarsia_call_timed(const char* key, struct intarsia_run* run, int (*kernel)(void**),
                                      const int32_t* form, const void* const* addresses) {
  const uint64_t begin = intarsia_clock();
  const int status = intarsia_call(run, kernel, form, addresses);
  intarsia_called(key, intarsia_clock() - begin);
  return status;
}
#endif

/* Returns whether all indices of a tensor are in a range. `axes` has the number of its dimensions, then
   extent and stride (in elements) of each; `bits` is 32 or 64. */
static inline int intarsia_are_in_range(const void* indices, int bits, const int32_t* axes, int64_t low,
                                        int64_t high) {
  int32_t at[16] = {0};
  const int32_t rank = axes[0];
  for (;;) {
    int64_t place = 0;
    for (int32_t k = 0; k < rank; ++k) place += (int64_t)at[k] * axes[2 + 2 * k];
    const int64_t index = bits == 32 ? ((const int32_t*)indices)[place] : ((const int64_t*)indices)[place];
    if (index < low || index > high) return 0;
    int32_t axis = rank;
    while (axis > 0 && ++at[axis - 1] == axes[2 * axis - 1]) at[--axis] = 0;
    if (axis == 0) return 1;
  }
}

#endif
