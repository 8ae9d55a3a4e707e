/* Runs a model with each pool, input and output in memory of exactly its size, less some bytes of one pool.
 *   exact POOL BYTES    input<k>.bin -> output<k>.bin
 * The memory ends at a page that faults; built with -DHEAP (and AddressSanitizer) it is the heap's, which is watched to the byte.
 * pools.h, made by the test: POOLS(X), X(name) for each pool that is memory of the caller's. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model.h"
#include "pools.h"

#ifdef HEAP
/* What it takes it has until it ends. */
const char* __asan_default_options(void);
const char* __asan_default_options(void) { return "detect_leaks=0"; }
#endif

static void* memory(size_t bytes, size_t align) {
#ifdef HEAP
  void* p = 0;
  if (posix_memalign(&p, align < sizeof p ? sizeof p : align, bytes)) exit(3);
  memset(p, 0xA5, bytes);
  return p;
#else
  const size_t page = 4096, pages = (bytes + align + page - 1) / page * page;
  unsigned char* p = mmap(0, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + pages, page, PROT_NONE)) exit(3);
  memset(p, 0xA5, pages);
  return p + (pages - bytes) / align * align;
#endif
}

static int file(const char* kind, int k, void* data, size_t bytes) {
  char name[32];
  const int in = kind[0] == 'i';
  snprintf(name, sizeof name, "%s%d.bin", kind, k);
  FILE* f = fopen(name, in ? "rb" : "wb");
  const size_t n = f ? (in ? fread(data, 1, bytes, f) : fwrite(data, 1, bytes, f)) : 0;
  if (f) fclose(f);
  return n == bytes ? 0 : 4;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t less = strtoul(argv[2], 0, 10);
#define POOL(name)                                                                                   \
  extern unsigned char* test_##name;                                                                 \
  test_##name = memory(TENON_MODEL_POOL_##name##_BYTES - (strcmp(argv[1], #name) ? 0 : less),          \
                       TENON_MODEL_POOL_##name##_ALIGN);
  POOLS(POOL)
  tenon_model_inputs in = {0};
  tenon_model_outputs out = {0};
  int k = 0, bad = 0;
#define INPUT(member, type, bytes)            \
  {                                           \
    type* p = memory(bytes, 64);              \
    bad |= file("input", k++, p, bytes);      \
    in.member = p;                            \
  }
  TENON_MODEL_INPUTS(INPUT)
#define OUTPUT(member, type, bytes) out.member = memory(bytes, 64);
  TENON_MODEL_OUTPUTS(OUTPUT)
  if (bad) return bad;
  if (tenon_model_run(&in, &out)) return 5;
  k = 0;
#define RESULT(member, type, bytes) bad |= file("output", k++, out.member, bytes);
  TENON_MODEL_OUTPUTS(RESULT)
  return bad;
}
