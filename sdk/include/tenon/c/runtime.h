/* The runtime: loads and runs artefacts of the graph executor. Plain C, usable from C99 and C++;
 * knows neither the compiler nor LLVM.
 *
 *   tn_model* model;  tn_context* ctx;
 *   if (tn_model_load("artefact", &model)) die(tn_last_error());
 *   if (tn_context_create(model, NULL, &ctx)) die(tn_last_error());
 *   tn_set_input(ctx, 0, TN_F32, 2, dims, data);     // copied
 *   if (tn_run(ctx)) die(tn_last_error());
 *   const void* y; tn_output(ctx, 0, &y);
 *
 * A model is what stands in the artefact: immutable, shared by any number of contexts and threads,
 * its constants mapped read-only. A context is one instance: pools, bound tensors, threads. One
 * thread at a time uses a context.
 *
 * Debuggers need no context: tn_model_step_arg says what each step touches, tn_run_step runs one in
 * memory of theirs.
 *
 * Every function that returns int gives 0, or a code of 8001..8999; the text is tn_last_error(),
 * per thread. Nothing here aborts on bad input, reads environment variables or prints. */
#ifndef TENON_C_RUNTIME_H
#define TENON_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TN_RT_API
#define TN_RT_API __attribute__((visibility("default")))
#endif

enum {
  TN_RT_OK = 0,
  TN_RT_FILE = 8001,     /* a file of the artefact is missing, unreadable or of another size */
  TN_RT_PROGRAM = 8002,  /* program.json is malformed: the text names the place */
  TN_RT_VERSION = 8003,  /* program.json is of a newer format */
  TN_RT_CPU = 8004,      /* this CPU lacks features that the artefact was compiled for */
  TN_RT_OBJECT = 8005,   /* the compiled kernels cannot be loaded, or one is missing */
  TN_RT_MEMORY = 8006,   /* no memory, or no threads */
  TN_RT_NAME = 8007,     /* no input, output, step or pool of that name or number */
  TN_RT_TENSOR = 8008,   /* dtype, rank, shape or bytes differ from the model's */
  TN_RT_POINTER = 8009,  /* null, misaligned or overlapping memory */
  TN_RT_NOT_SET = 8010,  /* an input was not given */
  TN_RT_PLANNED = 8011,  /* the tensor stands in a pool and cannot be bound elsewhere */
  TN_RT_KERNEL = 8012,   /* a kernel failed: the text names step, kernel and its code */
  TN_RT_ARGUMENT = 8013, /* a null handle or an option out of range */
  TN_RT_OVERRUN = 8014,  /* TN_GUARD: a step wrote past the end of a pool */
  TN_RT_DAMAGED = 8015   /* a file is not the one that was compiled: its checksum differs */
};

typedef enum {
  TN_F32,
  TN_F64,
  TN_F16,
  TN_BF16,
  TN_I8,
  TN_I16,
  TN_I32,
  TN_I64,
  TN_U8,
  TN_U16,
  TN_U32,
  TN_U64,
  TN_BOOL,
  TN_I4,
  TN_U4
} tn_dtype;

typedef struct tn_model tn_model;
typedef struct tn_context tn_context;

/* Structs that you pass in or have filled carry their size: set struct_size = sizeof(it). They only
 * ever grow at the end. */

typedef struct {
  size_t struct_size;
  const char* name; /* UTF-8; lives as long as the model */
  tn_dtype dtype;
  uint32_t rank;
  const int64_t* dims;   /* outermost first */
  uint64_t bytes, align; /* align: what memory bound to it must have */
  int planned;           /* 1: stands in a pool; use tn_input_memory, it cannot be bound */
  int state; /* 1: an input that a context keeps from run to run, zeros at first; need not be set */
  uint32_t pool; /* when planned: where */
  uint64_t offset;
} tn_tensor_info;

typedef struct {
  size_t struct_size;
  const char* id;
  uint64_t bytes, align;
  const char* kind;  /* "data", "constants" or "worker" (one instance per worker) */
  const void* image; /* what it holds before the first run, or null; lives as long as the model */
  uint64_t image_bytes;
} tn_pool_info;

typedef struct {
  size_t struct_size;
  const char* name;
  const char* kind;   /* "call", "copy", "branch" or "loop" */
  const char* kernel; /* symbol, of a call; else "" */
  uint64_t work;      /* estimated scalar operations; 0 unknown */
  uint32_t n_args;    /* see tn_model_step_arg */
  uint32_t past;      /* of a loop: the first step behind its body; else 0 */
} tn_step_info;

enum { TN_IN_POOL, TN_IN_INPUT, TN_IN_OUTPUT };

typedef struct {
  size_t struct_size;
  int base;       /* TN_IN_POOL, or TN_IN_INPUT, TN_IN_OUTPUT: memory of the caller's */
  uint32_t index; /* of that pool, input or output */
  uint64_t offset, bytes;
  int written;    /* 0: the step only reads it */
  uint32_t value; /* id of the value in request.json; UINT32_MAX when the artefact does not say */
} tn_arg_info;

enum {
  TN_GUARD = 1u,   /* each data pool ends at a page that may not be touched; what lies between is
                      checked after each step */
  TN_POISON = 2u,  /* data pools are filled with 0xFF bytes (NaN) before each run */
  TN_PROFILE = 4u, /* keep the time of each step: tn_step_times */
  TN_DYNAMIC = 8u  /* a step is cut into more parts than workers, and a worker takes the next one
                      when it is free: for machines on which others run too. Else each worker has
                      one part, which costs least when all CPUs are ours. Same results either way */
};

/* Threads of the caller's own. `run` calls job(state, w) once for every w < n, on any threads, in
 * any order, at once or one after the other, and returns when all have returned. It is called
 * within tn_run, on its thread, for each step that is worth sharing; n <= workers. It must not
 * throw. A context uses it until it is freed. */
typedef struct {
  size_t struct_size;
  uint32_t workers; /* 1 to 256: parts that may run at once, each with worker scratch of its own */
  void (*run)(void* user, uint32_t n, void (*job)(void* state, uint32_t w), void* state);
  void* user;
} tn_workers;

typedef struct {
  size_t struct_size;
  uint32_t threads; /* workers, the caller included; 0: one per CPU of this process; at most 256 */
  uint32_t flags;   /* TN_GUARD, ... */
  const tn_workers* workers; /* null: threads of the context's own; else `threads` must be 0. What
                                it points to is copied */
} tn_context_options;

/* Text of the last failure on this thread; "" before the first. Valid until the next call on this
 * thread. */
TN_RT_API const char* tn_last_error(void);

/* `folder`: of the artefact. Everything in it is checked before anything of it runs, program.json
 * and the kernels against their checksums too; of the constants only the size, so that a large
 * model starts quickly: see tn_model_verify. */
TN_RT_API int tn_model_load(const char* folder, tn_model** out);
/* Reads all constants and checks them against their checksums: TN_RT_DAMAGED names the file. 100 MB
 * take some 50 ms once they are in memory. */
TN_RT_API int tn_model_verify(const tn_model*);
/* Contexts made from it stay valid. */
TN_RT_API void tn_model_free(tn_model*);
TN_RT_API const char* tn_model_name(const tn_model*);
TN_RT_API const char* tn_model_json(const tn_model*); /* text of program.json */
TN_RT_API uint32_t tn_model_inputs(const tn_model*);
TN_RT_API uint32_t tn_model_outputs(const tn_model*);
TN_RT_API uint32_t tn_model_pools(const tn_model*);
TN_RT_API uint32_t
tn_model_steps(const tn_model*); /* those inside of branches and loops included */
TN_RT_API int tn_model_input(const tn_model*, uint32_t i, tn_tensor_info* out);
TN_RT_API int tn_model_output(const tn_model*, uint32_t i, tn_tensor_info* out);
TN_RT_API int tn_model_pool(const tn_model*, uint32_t i, tn_pool_info* out);
TN_RT_API int tn_model_step(const tn_model*, uint32_t i, tn_step_info* out);
/* Argument `arg` of a step. Of a call: inputs, outputs, shared scratch, then its worker scratch if
 * it has any. Of a copy: from, to. Of a branch: the condition. Of a loop: count, number of the
 * iteration, and for each carried value what it is at first, itself, what the body makes of it. */
TN_RT_API int tn_model_step_arg(const tn_model*, uint32_t step, uint32_t arg, tn_arg_info* out);
/* Number of the input (output) called `name`; TN_RT_NAME lists those that exist. */
TN_RT_API int tn_find_input(const tn_model*, const char* name, uint32_t* out);
TN_RT_API int tn_find_output(const tn_model*, const char* name, uint32_t* out);

/* `options` may be null. Allocates exactly the planned pools, and worker scratch times the number
 * of workers. */
/* With null options one worker: the caller. Own threads sleep between runs; within a run they wait
 * for the next step awake, so that a step begins half a microsecond after the last has ended. Steps
 * that are too small to share run on the caller alone. Results do not depend on the workers. */
TN_RT_API int tn_context_create(tn_model*, const tn_context_options* options, tn_context** out);
TN_RT_API void tn_context_free(tn_context*);
TN_RT_API uint32_t tn_context_threads(const tn_context*);

/* Copies data of exactly this type in. An input that is not planned keeps its data for later runs;
 * a planned one is consumed by each run, unless it is state. */
TN_RT_API int tn_set_input(tn_context*, uint32_t i, tn_dtype dtype, uint32_t rank,
                           const int64_t* dims, const void* data);
/* Zero-copy: runs read `data` itself, which must be aligned as tn_model_input says and stay valid
 * while it is bound. */
TN_RT_API int tn_bind_input(tn_context*, uint32_t i, tn_dtype dtype, uint32_t rank,
                            const int64_t* dims, const void* data);
/* Zero-copy the other way: where the next run will read input i. Counts as giving the input: fill
 * it before tn_run. */
TN_RT_API int tn_input_memory(tn_context*, uint32_t i, void** out);
/* Zero-copy: runs write output i to `data`. Null goes back to the context's own memory. Outputs and
 * inputs that are bound must not overlap. */
TN_RT_API int tn_bind_output(tn_context*, uint32_t i, tn_dtype dtype, uint32_t rank,
                             const int64_t* dims, void* data);

/* Runs one step, all of its range, on this thread: args[k] is where argument k stands, in memory of
 * the caller's that has the argument's bytes and alignment. `*next` becomes the step that runs
 * then, tn_model_steps behind the last. After the body of a loop that is the loop again (no larger
 * than `step`), to be run with `turn` 1: it hands on what the body made, and begins another
 * iteration or ends. */
TN_RT_API int tn_run_step(const tn_model*, uint32_t step, int turn, void* const* args,
                          uint32_t* next);

/* Runs all steps. After a failure outputs are undefined and the context can run again. */
TN_RT_API int tn_run(tn_context*);
/* Where output i stands: the bound memory, the context's own, or the pool. Valid until the next
 * tn_run. */
TN_RT_API int tn_output(tn_context*, uint32_t i, const void** out);
/* Nanoseconds of each step in the last run (0: not taken), one per tn_model_steps. Needs
 * TN_PROFILE. Steps of a loop: of all its iterations together. */
TN_RT_API int tn_step_times(tn_context*, const uint64_t** nanoseconds, uint32_t* n);

#ifdef __cplusplus
}
#endif

#endif
