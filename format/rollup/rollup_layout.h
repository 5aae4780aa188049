/* The numbers of rollup files. spec/rollup.md is the authority.
 *
 *   file  | header | strings | functions | rows | traces | measures |
 *
 * Header, 64 bytes:
 *    0 magic 8            | 8 minor 2 | 10 required minor 2 | 12 flags 4
 *   16 file bytes 8       | 24 hash of the rest 8
 *   32 kind of rows 4     | 36 strings 4 | 40 functions 4 | 44 rows 4
 *   48 traces 4           | 52 longest calls of a row 4 | 56 hash 8 */
#ifndef TTP_FORMAT_ROLLUP_LAYOUT_H
#define TTP_FORMAT_ROLLUP_LAYOUT_H

#include <stdint.h>

/* The magic is like that of traces: its digit is the major version. */
#define TTP_ROLLUP_MAGIC        "\x89TTROL1\n"
#define TTP_ROLLUP_MAGIC_BYTES  8u
#define TTP_ROLLUP_MAJOR_AT     6u
#define TTP_ROLLUP_MINOR_AT     8u
#define TTP_ROLLUP_REQUIRED_AT  10u
#define TTP_ROLLUP_FLAGS_AT     12u
#define TTP_ROLLUP_SIZE_AT      16u
#define TTP_ROLLUP_BODY_HASH_AT 24u
#define TTP_ROLLUP_BY_AT        32u
#define TTP_ROLLUP_STRINGS_AT   36u
#define TTP_ROLLUP_FUNCTIONS_AT 40u
#define TTP_ROLLUP_ROWS_AT      44u
#define TTP_ROLLUP_TRACES_AT    48u
#define TTP_ROLLUP_LONGEST_AT   52u
#define TTP_ROLLUP_HASH_AT      56u
#define TTP_ROLLUP_HEADER_BYTES 64u
#define TTP_ROLLUP_MAJOR        1u
#define TTP_ROLLUP_MINOR        0u

#define TTP_ROLLUP_ID_BYTES 16u /* of a trace */

#define TTP_ROLLUP_HAS_COUNTS     1u /* flags: of durations by size, */
#define TTP_ROLLUP_HAS_HISTOGRAMS 2u /* or in powers of two */
#define TTP_ROLLUP_FLAGS_KNOWN    3u

/* Flags of a trace. */
#define TTP_ROLLUP_HAS_TIMES    1u
#define TTP_ROLLUP_HAS_IDLE     2u  /* something in it blocks, by its name, */
#define TTP_ROLLUP_IDLE_CALLS   4u  /* and these are system calls */
#define TTP_ROLLUP_SWITCHES     8u  /* partitions know of switches */
#define TTP_ROLLUP_IS_GROWING   16u /* it was still written */
#define TTP_ROLLUP_IS_TRUNCATED 32u
#define TTP_ROLLUP_TRACE_FLAGS  63u

/* Callers: those that are no functions come first. */
#define TTP_ROLLUP_CALLER_NONE  0u
#define TTP_ROLLUP_CALLER_FIRST 2u /* 1: a signal's handler is called by nobody, either */

#define TTP_ROLLUP_BUILD_BYTES_MAX 64u
#define TTP_ROLLUP_TEXT_MAX        4096u /* names of files and hosts */
#define TTP_ROLLUP_STRING_MAX      1048576u
#define TTP_ROLLUP_LONGEST_MAX     10u
#define TTP_ROLLUP_CLASSES_MAX     65536u /* numbers of classes have 16 bits */
#define TTP_ROLLUP_CLASSES         7425u  /* of 1/128 of a duration (R-CNT-04) */
#define TTP_ROLLUP_BUCKETS         48u    /* powers of two (R-CNT-05) */
#define TTP_ROLLUP_UNITS_MAX       64u

#endif
