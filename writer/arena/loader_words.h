/* What the file of a program and that of its loader say of how libraries come into it. Three sides
 * look: the command before it starts a program, a program before it executes another one, and the
 * recorder when one has not come. */
#ifndef TTP_LOADER_WORDS_H
#define TTP_LOADER_WORDS_H

/* Among the strings of a loader, in its first pages: of a glibc; of one from 2.35 on, with which
 * unwinders can be told of code that was not loaded. */
#define TTP_LOADER_GLIBC       "GLIBC_2."
#define TTP_LOADER_GLIBC_NEWER "__rseq_offset"
#define TTP_LOADER_BYTES       (64u << 10)
#define TTP_LOADER_PATH_BYTES  256u

/* The owner of a note in each Go program; one that has no such function among what it asks for
 * makes its threads without the C library. */
#define TTP_GO_NOTE       "Go"
#define TTP_GO_NOTE_BYTES 4u /* with its zeros */
#define TTP_MAKES_THREADS "pthread_create"

#endif
