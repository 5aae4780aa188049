/* A limit for everything that bytes can ask for, each with its reason. Passing one is TTAPE_E_LIMIT
 * or TTAPE_E_CORRUPT as noted; a reader's options may set lower ones. */
#ifndef TTP_FORMAT_LIMITS_H
#define TTP_FORMAT_LIMITS_H

/* A partition is decoded whole: 2^24 events are 192 MiB of codes and times. TTAPE_E_LIMIT. */
#define TTP_MAX_PARTITION_EVENTS 16777216u
/* A payload is read into memory: a partition of 2^24 raw events with values stays under it.
 * TTAPE_E_LIMIT. */
#define TTP_MAX_PAYLOAD_BYTES (1024u * 1024u * 1024u)
/* Kinds are 16 bits and unknown ones are skipped, but nobody needs more sections than this.
 * TTAPE_E_CORRUPT. */
#define TTP_MAX_SECTIONS 64u
/* Definitions are kept in memory for as long as a file is open. TTAPE_E_LIMIT. */
#define TTP_MAX_SITES        16777216u
#define TTP_MAX_STREAMS      16777216u
#define TTP_MAX_SCOPES       65536u
#define TTP_MAX_STRING_BYTES 1048576u
/* Frames of a path: what one message of a recording can say, and callers may keep a frame each.
 * TTAPE_E_CORRUPT. */
#define TTP_MAX_PATH_DEPTH 65535u
/* One past the largest stack number: records have 20 bits for it. TTAPE_E_CORRUPT. */
#define TTP_MAX_STACKS 1048576u
/* Depth of recorded and known frames together; a 10-bit recorder never comes near. TTAPE_E_CORRUPT.
 */
#define TTP_MAX_DEPTH 0x7fffffffu
/* CBOR nesting in metadata: real metadata is flat. TTAPE_E_LIMIT. */
#define TTP_MAX_CBOR_DEPTH 16u
/* Metadata entries of all scopes. TTAPE_E_LIMIT. */
#define TTP_MAX_METADATA 65536u

#endif
