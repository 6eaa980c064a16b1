/* Start of a program on a board that QEMU emulates: floating-point unit and vectors on, variables zero,
   main(); what main() prints and returns is QEMU's (semihosting). Everything is loaded in place. */
#include <stdint.h>
#include <stdlib.h>

extern uint32_t stack_end[], bss_begin[], bss_end[];
int main(void);
void reset(void);
void initialise_monitor_handles(void); /* of newlib's rdimon: standard input and output */

/* Says that the program crashed by its exit status: a loop would only end by the time limit. */
static void fault(void) { _Exit(99); }

void reset(void) {
  volatile uint32_t* const coprocessors = (volatile uint32_t*)0xe000ed88; /* CPACR */
  *coprocessors |= 0xfu << 20;                                            /* full access to CP10 and CP11 */
  __asm volatile("dsb\n isb" ::: "memory");
  for (uint32_t* word = bss_begin; word != bss_end; ++word) *word = 0;
  initialise_monitor_handles();
  exit(main());
}

void _init(void) {}
void _fini(void) {}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_end,
    reset,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault};
