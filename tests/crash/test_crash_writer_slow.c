/* The same with many more runs, and draws of what a power cut leaves. */
#define SEEDS 400
#define DRAWS 9
#include "test_crash_writer.c"
