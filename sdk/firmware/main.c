/* Runs a model that was compiled with `--set emit.name=model` on the board mps2-an500 (QEMU): reads input0.bin, input1.bin, ...
   from the host through semihosting, runs, writes output0.bin, ... Each input and output is planned: it stands in a pool.
   Before the run every byte of the pools and 32 bytes behind each are poisoned; afterwards those behind must be as they were. */
#include <stdint.h>
#include <string.h>

#include "model.h"

extern unsigned char dtcm_first[], dtcm_last[], sram_first[], sram_last[], psram_first[], psram_last[];
_Noreturn void firmware_exit(int code, const char* why);

enum { guard_bytes = 32, poison = 0xA5 };

/* --- semihosting: the host's files and its exit code */
enum { sys_open = 0x01, sys_close = 0x02, sys_write0 = 0x04, sys_write = 0x05, sys_read = 0x06, sys_exit = 0x20 };

static int host(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

_Noreturn void firmware_exit(int code, const char* why) {
  const uint32_t reason[] = {0x20026u, (uint32_t)code}; /* the application ended by itself */
  host(sys_write0, why);
  for (;;) host(sys_exit, reason);
}

static void transfer(const char* kind, uint32_t number, int operation, void* data, uint32_t bytes) {
  char name[24];
  size_t n = strlen(kind);
  memcpy(name, kind, n);
  uint32_t power = 1;
  while (number / power >= 10u) power *= 10u;
  for (; power > 0; power /= 10u) name[n++] = (char)('0' + number / power % 10u);
  memcpy(name + n, ".bin", 5);
  const uintptr_t open[] = {(uintptr_t)name, operation == sys_read ? 1u : 5u, n + 4u}; /* "rb", "wb" */
  const uintptr_t file = (uintptr_t)host(sys_open, open);
  const uintptr_t block[] = {file, (uintptr_t)data, bytes};
  if (file == UINTPTR_MAX || host(operation, block) != 0) firmware_exit(2, "a file of the host could not be read or written\n");
  host(sys_close, block);
}

/* --- pools */
static void poison_pool(unsigned char* first, unsigned char* last) {
  memset(first, poison, (size_t)(last - first) + guard_bytes);
}

static void check_guard(const unsigned char* last, const char* why) {
  for (unsigned i = 0; i < guard_bytes; i++)
    if (last[i] != poison) firmware_exit(3, why);
}

int main(void) {
  poison_pool(dtcm_first, dtcm_last);
  poison_pool(sram_first, sram_last);
  poison_pool(psram_first, psram_last);
  uint32_t n = 0;
#define TENON_READ(member, type, bytes) transfer("input", n++, sys_read, tenon_model_input_##member(), bytes);
  TENON_MODEL_INPUTS(TENON_READ)
  const tenon_model_inputs in = {0};
  tenon_model_outputs out = {0};
  const int32_t code = tenon_model_run(&in, &out);
  if (code != 0) firmware_exit(4, "the model stopped\n");
  n = 0;
#define TENON_WRITE(member, type, bytes) transfer("output", n++, sys_write, tenon_model_output_##member(), bytes);
  TENON_MODEL_OUTPUTS(TENON_WRITE)
  check_guard(dtcm_last, "the bytes behind dtcm were written\n");
  check_guard(sram_last, "the bytes behind sram were written\n");
  check_guard(psram_last, "the bytes behind psram were written\n");
  firmware_exit(0, "the model ran, the guards are intact\n");
}
