/* Every number of every kind of call. */
#define MOST 1000000u
#include "test_api_faults.c"
