/* Libraries that are a program's own: its executable starts them, and its code lies in them. */
#ifndef TOOL_RECORD_OWN_H
#define TOOL_RECORD_OWN_H

/* Paths as the loader says them, NULL behind the last: libraries in the program's folder or in one
 * that it names itself (RUNPATH, $ORIGIN), but in none of the system's, and those with its name
 * (jq and libjq, ruby3.1 and libruby-3.1). Together they have at most 20,000 functions. NULL: there
 * is none. Free it with tool_record_modules_free. */
char **tool_record_own_libraries(const char *program);

#endif
