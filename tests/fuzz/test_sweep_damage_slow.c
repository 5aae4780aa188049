/* R1 with every cut and R3 with 1,000 rounds of random damage for each file (with sanitizers a
 * fifth): test_sweep_damage.c. */
#include "tests/unit/every.h"

#if TTEST_SANITIZED
#define ROUNDS         200u
#define CUT_STEP       5u
#define SMALL_CUT_STEP 5u
#define BLOCK_STEP     240u
#else
#define ROUNDS         1000u
#define CUT_STEP       1u
#define SMALL_CUT_STEP 1u
#define BLOCK_STEP     48u
#endif
#define FILE_STEP  1u
#define WHOLE_STEP 7u
#include "test_sweep_damage.c"
