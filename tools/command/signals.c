/* The handler only unlinks, restores the default and raises the signal again: all of it
 * async-signal-safe. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/signals.h"

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
#define CAUGHT_COUNT (sizeof(caught) / sizeof(caught[0]))

static _Atomic(const char *) output;
static _Atomic(const char *) words;
static _Atomic pid_t owner; /* of the file: children leave it where it is */

void tool_signals_remove_output(void)
{
    const char *path = atomic_load(&output);
    if (path != NULL && atomic_load(&owner) == getpid())
        unlink(path);
}

static void handle(int number)
{
    int saved = errno;
    const char *line = atomic_load(&words);
    tool_signals_remove_output();
    if (line != NULL && write(STDERR_FILENO, line, strlen(line)) < 0)
        errno = saved; /* nobody reads it */
    signal(number, SIG_DFL);
    raise(number);
    errno = saved;
}

void tool_signals_catch(void)
{
    for (size_t i = 0; i < CAUGHT_COUNT; i++) {
        struct sigaction old;
        struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        sigaddset(&set, caught[i]);
    pthread_sigmask(how, &set, NULL);
}

void tool_signals_block(void) { mask(SIG_BLOCK); }

void tool_signals_unblock(void) { mask(SIG_UNBLOCK); }

void tool_signals_set_output(const char *path)
{
    atomic_store(&owner, getpid());
    atomic_store(&output, path);
}

void tool_signals_set_words(const char *line) { atomic_store(&words, line); }
