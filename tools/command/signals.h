/* Interrupts leave nothing behind: the unfinished output is removed, then the signal takes its
 * course. */
#ifndef TOOL_SIGNALS_H
#define TOOL_SIGNALS_H

/* Catches SIGINT, SIGTERM and SIGHUP (those that are not ignored). */
void tool_signals_catch(void);

/* Around the creation of an output: no signal between the file's birth and its registration. */
void tool_signals_block(void);
void tool_signals_unblock(void);

/* The temporary name to remove on a signal; borrowed until it is changed; NULL: none. */
void tool_signals_set_output(const char *path);

/* A line that a signal which ends the command writes to standard error; borrowed as above. */
void tool_signals_set_words(const char *line);

/* Removes the registered output now (for a sudden end). */
void tool_signals_remove_output(void);

#endif
