/* Times kernels on the machine that it runs on: those of a folder that `intarsia tune-pack` wrote.

     ./timer ./kernels.so kernels.txt > times.json

   Prints what `intarsia costs import` reads. It can be built there, too:

     cc -O2 -std=gnu11 -pthread timer.c -o timer -ldl

   In a round each kernel of a batch runs once, so that all others run between two runs of one, and its
   constants are as cold as they leave them. The first round is not counted; the time of a kernel is the least
   of the others. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "halide_abi.h"

enum { rounds = 6, max_threads = 1024, max_tensors = 64, max_rank = 16, max_name = 256, cache_line = 64 };

static void fail(const char* format, ...) {
  va_list values;
  va_start(values, format);
  fputs("error: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  exit(1);
}

/* ---- Memory ---- */

static void* allocate_aligned(size_t bytes) {
  const size_t whole =
      (bytes + 2 * cache_line - 1) / cache_line * cache_line; /* vectors are read past the end */
  void* memory = aligned_alloc(cache_line, whole);
  if (memory == NULL) fail("no memory for %zu bytes", bytes);
  return memset(memory, 0, whole); /* also makes its pages, each its own */
}

/* Memory that kernels take while they run. A thread keeps what they give back, so that only the first round
   asks the system for any. */
struct Block {
  struct Block* next;
  size_t bytes;
};
static _Thread_local struct Block* free_blocks;

static void* take_scratch(struct HalideKernelRuntime* runtime, size_t bytes) {
  (void)runtime;
  const size_t wanted = bytes + cache_line; /* with the block's head */
  for (struct Block** at = &free_blocks; *at != NULL; at = &(*at)->next) {
    struct Block* block = *at;
    if (block->bytes < wanted || block->bytes > 2 * wanted) continue;
    *at = block->next;
    return (char*)block + cache_line;
  }
  struct Block* block = allocate_aligned(wanted);
  block->bytes = wanted;
  return (char*)block + cache_line;
}

static void give_scratch_back(struct HalideKernelRuntime* runtime, void* memory) {
  (void)runtime;
  struct Block* block = (struct Block*)((char*)memory - cache_line);
  block->next = free_blocks;
  free_blocks = block;
}

/* ---- Threads ---- */

/* A loop that threads share: thread t of n computes the t-th n-th of its indices, each time the same ones. */
struct Loop {
  void (*body)(void* data, int thread, int threads);
  void* data;
};
static struct Loop loop;
static int team_size = 1; /* threads of the loop, with the caller */
static atomic_int started, working;
static _Thread_local int is_in_loop;

static void run_part(int thread) {
  is_in_loop = 1;
  loop.body(loop.data, thread, team_size);
  is_in_loop = 0;
}

/* Waits for loops, one after the other, without sleeping: a kernel takes less time than a thread that wakes
 * up. */
static void* work(void* number) {
  const int thread = (int)(intptr_t)number;
  for (int seen = 0;;) {
    while (atomic_load(&started) == seen) sched_yield();
    ++seen;
    if (thread < team_size) run_part(thread);
    atomic_fetch_sub(&working, 1);
  }
  return NULL;
}

static int workers; /* threads beside the caller's */

static void share(void (*body)(void*, int, int), void* data) {
  loop = (struct Loop){body, data};
  atomic_store(&working, workers);
  atomic_fetch_add(&started, 1);
  run_part(0);
  while (atomic_load(&working) > 0) sched_yield();
}

static void start_workers(int threads) {
  for (; workers < threads - 1; ++workers) {
    pthread_t thread;
    const int error = pthread_create(&thread, NULL, work, (void*)(intptr_t)(workers + 1));
    if (error != 0) fail("cannot start a thread: %s", strerror(error));
  }
}

struct Tasks {
  struct HalideKernelRuntime* runtime;
  HalideTask task;
  int min, size;
  uint8_t* closure;
  atomic_int status;
};

static void run_tasks(void* data, int thread, int threads) {
  struct Tasks* tasks = data;
  const int64_t size = tasks->size;
  for (int64_t i = size * thread / threads; i < size * (thread + 1) / threads; ++i) {
    const int status = tasks->task(tasks->runtime, tasks->min + (int)i, tasks->closure);
    if (status != 0) atomic_store(&tasks->status, status);
  }
}

static int parallel_for(struct HalideKernelRuntime* runtime, HalideTask task, int min, int size,
                        uint8_t* closure) {
  struct Tasks tasks = {runtime, task, min, size, closure, 0};
  if (is_in_loop || team_size == 1 || size < 2)
    run_tasks(&tasks, 0, 1);
  else
    share(run_tasks, &tasks);
  return atomic_load(&tasks.status);
}

static void report_error(struct HalideKernelRuntime* runtime, const char* message) {
  (void)runtime;
  fail("a kernel failed: %s", message);
}

static struct HalideKernelRuntime runtime = {parallel_for, take_scratch, give_scratch_back,
                                             report_error, NULL,         NULL};

/* ---- Kernels ---- */

struct Tensor {
  struct HalideBuffer buffer;
  struct HalideDimension dimensions[max_rank];
  int is_constant;
  size_t bytes;
};

struct Kernel {
  char digest[max_name], precision[max_name], symbol[max_name];
  int threads, times, tensor_count;
  struct Tensor* tensors;
  int (*code)(void** arguments);
  int64_t nanoseconds[rounds];
};

static FILE* file;
static const char* file_name;

/* Reads as fscanf does, and ends the program if not all `count` values are there. */
static void read_values(int count, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int got = vfscanf(file, format, values);
  va_end(values);
  if (got != count) fail("'%s' is damaged: write the folder again with intarsia tune-pack", file_name);
}

static void damaged_unless(int is_valid) {
  if (!is_valid) fail("'%s' is damaged: write the folder again with intarsia tune-pack", file_name);
}

static struct HalideType read_type(const char* name) {
  static const struct {
    const char* name;
    uint8_t code, bits;
  } types[] = {{"bool", halide_unsigned, 8}, {"i8", halide_signed, 8},     {"i16", halide_signed, 16},
               {"i32", halide_signed, 32},   {"i64", halide_signed, 64},   {"u8", halide_unsigned, 8},
               {"u16", halide_unsigned, 16}, {"u32", halide_unsigned, 32}, {"u64", halide_unsigned, 64},
               {"f16", halide_floating, 16}, {"bf16", halide_bfloat, 16},  {"f32", halide_floating, 32},
               {"f64", halide_floating, 64}};
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i)
    if (strcmp(types[i].name, name) == 0) return (struct HalideType){types[i].code, types[i].bits, 1};
  damaged_unless(0);
  return (struct HalideType){0, 0, 0};
}

/* Memory of a batch: tensors lie in the workspace or are constants. */
struct Memory {
  size_t workspace_bytes, constant_count, *constant_bytes;
  char *workspace, **constants;
};

static void read_tensor(struct Tensor* tensor, const struct Memory* memory) {
  char where[max_name], type[max_name];
  size_t place;
  int rank;
  read_values(4, " tensor %255s %zu %255s %d", where, &place, type, &rank);
  damaged_unless(rank >= 0 && rank <= max_rank);
  tensor->buffer =
      (struct HalideBuffer){.type = read_type(type), .dimensions = rank, .dim = tensor->dimensions};
  const size_t element = tensor->buffer.type.bits / 8;
  tensor->bytes = element;
  for (int i = 0; i < rank; ++i) {
    int32_t extent, stride;
    read_values(2, " %d %d", &extent, &stride);
    damaged_unless(extent > 0 && stride >= 0);
    tensor->dimensions[i] = (struct HalideDimension){0, extent, stride, 0};
    tensor->bytes += (size_t)(extent - 1) * (size_t)stride * element;
  }
  tensor->is_constant = strcmp(where, "constant") == 0;
  damaged_unless(tensor->is_constant ? place < memory->constant_count : place <= memory->workspace_bytes);
  const size_t room = tensor->is_constant ? memory->constant_bytes[place] : memory->workspace_bytes - place;
  damaged_unless(tensor->bytes <= room);
  tensor->buffer.host =
      (uint8_t*)(tensor->is_constant ? memory->constants[place] : memory->workspace + place);
}

static void read_kernel(struct Kernel* kernel, const struct Memory* memory, void* library) {
  read_values(6, " kernel %255s %255s %d %d %d %255s", kernel->digest, kernel->precision, &kernel->threads,
              &kernel->times, &kernel->tensor_count, kernel->symbol);
  damaged_unless(kernel->threads > 0 && kernel->threads <= max_threads && kernel->times > 0 &&
                 kernel->tensor_count > 0 && kernel->tensor_count <= max_tensors &&
                 strstr(kernel->symbol, kernel->digest) != NULL);
  kernel->tensors = calloc((size_t)kernel->tensor_count, sizeof(struct Tensor));
  if (kernel->tensors == NULL) fail("no memory for a kernel");
  for (int i = 0; i < kernel->tensor_count; ++i) read_tensor(&kernel->tensors[i], memory);
  *(void**)&kernel->code = dlsym(library, kernel->symbol);
  if (kernel->code == NULL) fail("the library has no kernel %s: %s", kernel->symbol, dlerror());
}

static void read_memory(struct Memory* memory) {
  read_values(2, " batch %zu %zu", &memory->workspace_bytes, &memory->constant_count);
  memory->workspace = allocate_aligned(memory->workspace_bytes);
  memory->constants = calloc(memory->constant_count + 1, sizeof(char*));
  memory->constant_bytes = calloc(memory->constant_count + 1, sizeof(size_t));
  if (memory->constants == NULL || memory->constant_bytes == NULL) fail("no memory");
  for (size_t i = 0; i < memory->constant_count; ++i) {
    read_values(1, " constant %zu", &memory->constant_bytes[i]);
    memory->constants[i] = allocate_aligned(memory->constant_bytes[i]);
  }
}

static void release_memory(struct Memory* memory) {
  for (size_t i = 0; i < memory->constant_count; ++i) free(memory->constants[i]);
  free(memory->constants);
  free(memory->constant_bytes);
  free(memory->workspace);
}

/* ---- Timing ---- */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Stands in for the kernels before and after: each thread has its part of a tensor in its caches. */
static void touch_part(void* data, int thread, int threads) {
  const struct Tensor* tensor = data;
  volatile uint8_t* bytes = tensor->buffer.host;
  const size_t end = tensor->bytes * (size_t)(thread + 1) / (size_t)threads;
  for (size_t i = tensor->bytes * (size_t)thread / (size_t)threads; i < end; i += cache_line)
    bytes[i] = bytes[i];
}

static int64_t time_kernel(struct Kernel* kernel) {
  void* user_context = &runtime;
  void* arguments[max_tensors + 1] = {&user_context};
  team_size = kernel->threads;
  for (int i = 0; i < kernel->tensor_count; ++i) arguments[i + 1] = &kernel->tensors[i].buffer;
  struct Tensor* output = &kernel->tensors[kernel->tensor_count - 1];
  for (struct Tensor* input = kernel->tensors; team_size > 1 && input < output; ++input)
    if (!input->is_constant) share(touch_part, input);
  const int64_t begin = now();
  for (int i = 0; i < kernel->times; ++i) {
    const int status = kernel->code(arguments);
    if (status != 0) fail("kernel %s failed with status %d", kernel->symbol, status);
  }
  if (team_size > 1) share(touch_part, output);
  return now() - begin;
}

static int compare(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static void time_batch(struct Kernel* kernels, int count) {
  for (int round = -1; round < rounds; ++round)
    for (int i = 0; i < count; ++i) {
      const int64_t nanoseconds = time_kernel(&kernels[i]);
      if (round >= 0) kernels[i].nanoseconds[round] = nanoseconds > 0 ? nanoseconds : 1;
    }
  for (int i = 0; i < count; ++i) qsort(kernels[i].nanoseconds, rounds, sizeof(int64_t), compare);
}

/* ---- Output ---- */

static void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= 0x20) putchar(*text);
  }
  putchar('"');
}

/* Reads the first line of a file; empty if there is none. */
static void read_line(const char* path, char* line, size_t size) {
  FILE* from = fopen(path, "r");
  line[0] = '\0';
  if (from == NULL) return;
  if (fgets(line, (int)size, from) != NULL) line[strcspn(line, "\n")] = '\0';
  fclose(from);
}

/* Returns what follows "field : " in a line of /proc/cpuinfo, or null. */
static char* value_of(char* line, const char* field) {
  char* colon = strchr(line, ':');
  if (colon == NULL || strncmp(line, field, strlen(field)) != 0) return NULL;
  line[strcspn(line, "\n")] = '\0';
  return colon + 1 + strspn(colon + 1, " \t");
}

/* Describes the processor: its model, or the implementer and part of its cores, which may be of several
 * kinds. */
static void describe_processor(char* text, size_t size) {
  char line[4096], implementer[max_name] = "", part[2 * max_name + 16];
  FILE* from = fopen("/proc/cpuinfo", "r");
  text[0] = '\0';
  while (from != NULL && fgets(line, sizeof(line), from) != NULL) {
    const char* value;
    if ((value = value_of(line, "model name")) != NULL) {
      snprintf(text, size, "%s", value);
      break;
    }
    if ((value = value_of(line, "CPU implementer")) != NULL)
      snprintf(implementer, sizeof(implementer), "%.200s", value);
    if ((value = value_of(line, "CPU part")) == NULL) continue;
    snprintf(part, sizeof(part), "CPU %s part %.200s", implementer, value);
    if (strstr(text, part) == NULL && strlen(text) + strlen(part) + 4 < size)
      strcat(strcat(text, text[0] != '\0' ? " + " : ""), part);
  }
  if (from != NULL) fclose(from);
  if (text[0] == '\0') read_line("/proc/device-tree/model", text, size);
  struct utsname system;
  if (text[0] == '\0' && uname(&system) == 0) snprintf(text, size, "%s", system.machine);
}

static void print_machine(const char* architecture) {
  char text[1024], path[128], cache[64], caches[512] = "";
  describe_processor(text, 512);
  for (int i = 0; i < 8; ++i) {
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    read_line(path, cache, sizeof(cache));
    if (cache[0] != '\0') strcat(strcat(caches, caches[0] != '\0' ? " " : ", caches "), cache);
  }
  snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %ld cores%s", sysconf(_SC_NPROCESSORS_ONLN),
           caches);
  printf("  \"machine\": {\"name\": ");
  print_text(text);
  printf(", \"architecture\": \"%s\"},\n", architecture);
}

static void print_kernel(const struct Kernel* kernel, int is_last) {
  const double least = (double)kernel->nanoseconds[0], median = (double)kernel->nanoseconds[rounds / 2];
  printf(
      "    {\"digest\": \"%s\", \"threads\": %d, \"precision\": \"%s\", \"seconds\": %.9f, \"spread\": "
      "%.4f}%s\n",
      kernel->digest, kernel->threads, kernel->precision, least * 1e-9, (median - least) / least,
      is_last ? "" : ",");
}

static void print_head(void) {
  char cpu[max_name], architecture[max_name], backend[max_name], version[max_name], code[max_name];
  read_values(5, " cpu %255s architecture %255s generator %255s %255s %255s", cpu, architecture, backend,
              version, code);
  printf("{\n  \"intarsia_costs\": 1,\n");
  print_machine(architecture);
  printf(
      "  \"cpu\": \"%s\",\n  \"generator\": {\"backend\": \"%s\", \"version\": \"%s\", \"code\": \"%s\"},\n",
      cpu, backend, version, code);
  printf("  \"kernels\": [\n");
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) return puts("intarsia_tune_pack 1") == EOF;
  if (argc != 3) fail("usage: %s ./kernels.so kernels.txt > times.json", argv[0]);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail("cannot open the kernels: %s", dlerror());
  file_name = argv[2];
  file = fopen(file_name, "r");
  if (file == NULL) fail("cannot open '%s': %s", file_name, strerror(errno));
  int version, batches, threads;
  read_values(3, "intarsia_tune_pack %d batches %d threads %d", &version, &batches, &threads);
  damaged_unless(version == 1 && threads > 0 && threads <= max_threads);
  print_head();
  start_workers(threads);
  for (int batch = 0; batch < batches; ++batch) {
    struct Memory memory;
    int count;
    read_memory(&memory);
    read_values(1, " kernels %d", &count);
    damaged_unless(count > 0);
    struct Kernel* kernels = calloc((size_t)count, sizeof(struct Kernel));
    if (kernels == NULL) fail("no memory for %d kernels", count);
    for (int i = 0; i < count; ++i) read_kernel(&kernels[i], &memory, library);
    time_batch(kernels, count);
    for (int i = 0; i < count; ++i) {
      print_kernel(&kernels[i], batch + 1 == batches && i + 1 == count);
      free(kernels[i].tensors);
    }
    free(kernels);
    release_memory(&memory);
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%d of %d batches", batch + 1, batches);
  }
  if (isatty(STDERR_FILENO)) fputc('\n', stderr);
  printf("  ]\n}\n");
  if (fflush(stdout) != 0 || ferror(stdout)) fail("cannot write the times: %s", strerror(errno));
  return 0;
}
