/* A killed recorder's folder out of one input, and its arena. */
#ifndef FUZZ_RECORDING_H
#define FUZZ_RECORDING_H

#include <tracetape/recover.h>

#include "fuzz_folder.h"
#include "recorder/state/recording_internal.h"

/* A packed folder (fuzz_folder.h), of which these are made up; what holds no piece is taken as it
 * is, and so are all others (trace.0, snapshot ...):
 *
 *   journal   pieces: u8 kind, bytes               entries: sizes and checksums are made right
 *   spill     pieces: slots (below)                magic and checksum are made right
 *   arena     pieces: the head's first bytes; then for each block u32 state and a slot; it lies in
 *             tracetape-aaaaaa/
 *   writes    pieces: u8 when, u24 place, bytes    what programs write over the arena while
 *             recovery waits for the `when`th time
 *   ../NAME   is beside the folder
 *
 * A slot: u16 first (with 0x8000 numbers of stacks are left as they are, otherwise below 16), 64
 * bytes of block head, records; fewer bytes are followed by zeros. In
 * journals, FUZZ_VICTIM stands for the arena of another recording, in shared memory. */
#define FUZZ_RECORDING "a.ttape.recording"
#define FUZZ_ARENA     "tracetape-aaaaaa"
#define FUZZ_VICTIM    "tracetape-VICTIM"

/* Returns its path. checksums: false leaves them 0. */
const char *fuzz_recording_make(const struct fuzz_input *packed, bool checksums);
void fuzz_recording_slot(struct fuzz_input piece, struct ttp_slot *slot);
/* Nothing of it, nor of the victim, is other than it was; but for the arena's mode, where that is
 * on, and what programs wrote. Once. */
void fuzz_recording_check(void);
/* The victim is as it was. */
void fuzz_recording_check_victim(void);

/* Callbacks of recovery, whose context is a count of losses: a uint64_t. */
void fuzz_recording_line(void *losses, bool is_loss, const char *line);
void fuzz_recording_piece(void *losses, const ttape_recover_piece *piece);

#endif
