/* Stands before a kernel of an artefact: the runtime finds this KERNEL first. It does what FAULT says and
 * calls the true one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t kernel_fn(void* const* buf, const int64_t* dim, void* worker, int64_t begin, int64_t end);

static kernel_fn* true_kernel(const char* name) {
  Dl_info self;
  char path[4096];
  if (!dladdr((void*)(uintptr_t)&true_kernel, &self)) abort();
  snprintf(path, sizeof path, "%s", self.dli_fname);
  char* slash = strrchr(path, '/');
  snprintf(slash, sizeof path - (size_t)(slash - path), "/kernels.so");
  void* object = dlopen(path, RTLD_NOW);
  kernel_fn* f = object ? (kernel_fn*)(uintptr_t)dlsym(object, name) : 0;
  if (!f) abort();
  return f;
}

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

int32_t KERNEL(void* const* buf, const int64_t* dim, void* worker, int64_t begin, int64_t end) {
  kernel_fn* f = true_kernel(TEXT(KERNEL));
  void* moved[16];
  memcpy(moved, buf, N_ARGS * sizeof *buf);
  (void)moved;
#if defined(FAULT_ALIGN) /* as a DMA engine that takes pages of 512 bytes */
  moved[ARG] = (void*)((uintptr_t)moved[ARG] & ~(uintptr_t)511);
#elif defined(FAULT_TRAP) /* as a vector instruction that takes 128 bytes at once */
  if ((uintptr_t)moved[ARG] & 127) __builtin_trap();
#elif defined(FAULT_CLEARS) /* clears its result first, to sum into it */
  memset(moved[ARG], 0, BYTES);
#elif defined(FAULT_WRITES) /* works on its operand in place, then gives it back changed */
  ((float*)moved[ARG])[3] += 1;
#elif defined(FAULT_PAST) /* a whole vector at the end of what does not divide by it */
  memset((char*)moved[ARG] + BYTES, 0, 12);
#elif defined(FAULT_UNWRITTEN) /* takes its scratch to be 0 */
  float before = ((float*)worker)[0];
#elif defined(FAULT_BEHIND) /* reads a vector past the end */
  float before = ((volatile float*)moved[ARG])[BYTES / 4];
#elif defined(FAULT_PAGE) /* cannot have its first operand and its result in one page */
  if ((((uintptr_t)moved[0] ^ (uintptr_t)moved[N_ARGS - 1]) >> 12) == 0) return 9;
#elif defined(FAULT_CRASH)
  abort();
#elif defined(FAULT_CODE)
  return 7;
#endif
  const int32_t code = f(moved, dim, worker, begin, end);
#if defined(FAULT_ADDRESS)
  const float before = (float)(((uintptr_t)moved[ARG] >> 12) & 0xffff);
#endif
#if defined(FAULT_UNWRITTEN) || defined(FAULT_BEHIND) || defined(FAULT_ADDRESS)
  memcpy(moved[N_ARGS - 1], &before, 4);
#endif
  return code;
}
