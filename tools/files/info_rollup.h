/* info of a rollup: what its rows are of, and what it covers. */
#ifndef TOOL_INFO_ROLLUP_H
#define TOOL_INFO_ROLLUP_H

#include <stdbool.h>
#include <stdint.h>

/* Reads it and prints. Returns a tool_exit. */
int tool_info_print_rollup(const char *path, bool json, uint64_t memory_bytes);

#endif
