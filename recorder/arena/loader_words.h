/* What the file of a program and that of its loader say of how libraries come into it. Three sides
 * look: the command before it starts a program, a program before it executes another one, and the
 * recorder when one has not come. */
#ifndef TTP_LOADER_WORDS_H
#define TTP_LOADER_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Among the strings of a loader, in its first pages: of a glibc; of one from 2.35 on, with which
 * unwinders can be told of code that was not loaded. */
#define TTP_LOADER_GLIBC       "GLIBC_2."
#define TTP_LOADER_GLIBC_NEWER "__rseq_offset"
#define TTP_LOADER_BYTES       (64u << 10)
#define TTP_LOADER_PATH_BYTES  256u

/* The owner of a note in each Go program; one that has no such function among what it asks for
 * makes its threads without the C library. */
#define TTP_GO_NOTE       0x00006f47u /* "Go", and zeros */
#define TTP_GO_NOTE_BYTES 4u
#define TTP_NOTES_BYTES   1024u /* of a segment of notes that are looked at in a file */
#define TTP_MAKES_THREADS "pthread_create"

/* Whether notes of a file, or of a program, are of that owner. Their sizes are anybody's words. */
static inline bool ttp_notes_have_go(const uint8_t *notes, uint64_t size)
{
    const uint64_t head_bytes = 12;
    while (size >= head_bytes + TTP_GO_NOTE_BYTES) {
        uint32_t word[4];
        __builtin_memcpy(word, notes, sizeof(word));
        if (word[0] == TTP_GO_NOTE_BYTES && word[3] == TTP_GO_NOTE)
            return true;
        uint64_t whole =
            head_bytes + ((uint64_t)word[0] + 3) / 4 * 4 + ((uint64_t)word[1] + 3) / 4 * 4;
        if (whole > size)
            break;
        notes += whole;
        size -= whole;
    }
    return false;
}

#endif
