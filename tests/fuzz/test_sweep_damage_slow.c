/* R1 with every cut and R3 with 1,000 rounds of random damage for each file:
 * test_sweep_damage.c. */
#define ROUNDS     1000u
#define CUT_STEP   1u
#define FILE_STEP  1u
#define WHOLE_STEP 1u
#include "test_sweep_damage.c"
