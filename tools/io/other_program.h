/* Another program that turns bytes into other bytes: one that draws. */
#ifndef TOOL_OTHER_PROGRAM_H
#define TOOL_OTHER_PROGRAM_H

/* Runs a program, looked for in PATH, with the file `from`, from its beginning on, as standard
 * input, and `into`, or our own, where that is negative, as standard output. A tool_exit: what went
 * wrong has been said; `missing` where there is no such program. */
int tool_filter_run(char *const arguments[], int from, int into, const char *missing);

#endif
