/* Every number of every kind of call. */
#define MOST ALL
#include "test_api_faults.c"
