/* R2, the whole of it: test_sweep_bits.c with every bit. */
#define STRIDE 1u
#include "test_sweep_bits.c"
