/* What is mapped where a program starts, without running it. */
#ifndef TOOL_RECORD_MODULES_H
#define TOOL_RECORD_MODULES_H

#include <stdbool.h>

/* Paths, NULL behind the last: the program's, then those of its libraries as the loader says that
 * it finds them; of what it does not load (static, of another machine) the first only. */
char **tool_record_modules(const char *program);
void tool_record_modules_free(char **modules);
/* Whether every program has it, by its file's name: the C and C++ libraries, and the loader. */
bool tool_record_is_basic_module(const char *name);

#endif
