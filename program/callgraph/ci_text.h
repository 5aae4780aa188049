/* The text of a compiler's file of calls (gcc -fcallgraph-info): a graph in the language of VCG, of
 * which only edges count here. Pure.
 *
 *     edge: { sourcename: "file.c:from" targetname: "to" label: "file.c:5:51" } */
#ifndef TOOL_CI_TEXT_H
#define TOOL_CI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <tracetape/types.h>

#define TOOL_CI_INDIRECT "__indirect_call" /* the target of calls through pointers */

/* Calls `take` for each edge with the names as they stand there. Returns 0, or the line of what is
 * no such graph, at which reading ends. */
typedef void (*tool_ci_take)(void *context, ttape_string from, ttape_string to);
size_t tool_ci_parse(const char *text, size_t size_bytes, tool_ci_take take, void *context);
/* A function's name as it is linked: without the file in front, which static ones have. */
ttape_string tool_ci_name(ttape_string title);

#endif
