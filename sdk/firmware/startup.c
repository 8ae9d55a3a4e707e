/* What runs before main() on a Cortex-M: vectors, memory, floating point. */
#include <stdint.h>
#include <string.h>

extern uint32_t stack_top[];
extern unsigned char data_first[], data_last[], data_image[], bss_first[], bss_last[];
int main(void);
_Noreturn void firmware_exit(int code, const char* why);

void reset(void);
void fault(void);

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
    (uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,     (uintptr_t)fault, (uintptr_t)fault};

void reset(void) {
  *(volatile uint32_t*)0xE000ED88u |= 0xFu << 20; /* CPACR: full access to the floating-point unit */
  __asm__ volatile("dsb\n isb");
  memcpy(data_first, data_image, (size_t)(data_last - data_first));
  memset(bss_first, 0, (size_t)(bss_last - bss_first));
  firmware_exit(main(), "");
}

void fault(void) { firmware_exit(99, "a fault of the CPU\n"); }
