/* R2, the whole of it: test_sweep_bits.c with every bit by the index, every one outside of payloads
 * of partitions by scan, and verify on every bit that nothing else reads. */
#define STRIDE         1u
#define SCAN_STRIDE    4u
#define PIPE_STRIDE    32u
#define RECOVER_STRIDE 16u
#define VERIFY_STRIDE  512u
#define UNREAD_STRIDE  1u
#define ALL_STRIDE     512u
#include "test_sweep_bits.c"
