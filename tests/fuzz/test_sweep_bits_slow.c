/* R2, the whole of it: test_sweep_bits.c with every bit by the index, every one outside of payloads
 * of partitions by scan, and the others in so many; with sanitizers one bit in seven. */
#define STRIDE         1u
#define SCAN_STRIDE    32u
#define PIPE_STRIDE    512u
#define RECOVER_STRIDE 64u
#define VERIFY_STRIDE  512u
#define UNREAD_STRIDE  16u
#define ALL_STRIDE     512u
#include "test_sweep_bits.c"
