/* A library for x86-64 of one page, put together by hand: what `tracetape binary` looks at, each
 * thing once. */
#include <string.h>

#include "fuzz_seeds.h"

enum {
    SEGMENTS = 0x40,
    SECTIONS = 0x160,
    TEXT = 0x280,
    FRAMES_HEAD = 0x300,
    FRAMES = 0x310,
    PADS = 0x400,
    TABLE = 0x420,
    SYMBOLS = 0x440,
    NAMES = 0x4a0,
    RELOCATIONS = 0x4c0,
    PACKED = 0x520,
    DYNAMIC = 0x540,
    NOTE = 0x620,
    SLOT = 0x660,
    END = 0x680,
    SEGMENT_BYTES = 56
};

static void at(struct fuzz_bytes *to, size_t place)
{
    FUZZ_REQUIRE(to->size <= place);
    while (to->size < place)
        fuzz_put_number(to, 0, 1);
}

static void words(struct fuzz_bytes *to, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fuzz_put_number(to, values[i], 8);
}

static void put_segment(struct fuzz_bytes *to, uint32_t type, uint32_t flags, uint64_t place,
                        uint64_t size_bytes)
{
    const uint64_t rest[] = {place, place, place, size_bytes, size_bytes, 8};
    fuzz_put_number(to, type, 4);
    fuzz_put_number(to, flags, 4);
    words(to, rest, 6);
}

static void put_section(struct fuzz_bytes *to, uint32_t type, uint64_t place, uint64_t size_bytes,
                        uint32_t link)
{
    const uint64_t middle[] = {2, place, place, size_bytes}, rest[] = {8, 24};
    fuzz_put_number(to, 0, 4);
    fuzz_put_number(to, type, 4);
    words(to, middle, 4);
    fuzz_put_number(to, link, 4);
    fuzz_put_number(to, 0, 4);
    words(to, rest, 2);
}

static void put_heads(struct fuzz_bytes *to)
{
    static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    const uint64_t places[] = {TEXT, SEGMENTS, SECTIONS};
    fuzz_put(to, ident, sizeof ident);
    fuzz_put_number(to, 3 | 62 << 16, 4);
    fuzz_put_number(to, 1, 4);
    words(to, places, 3);
    fuzz_put_number(to, 0, 4);
    fuzz_put_number(to, 64 | 56 << 16, 4);
    fuzz_put_number(to, 5 | 64 << 16, 4);
    fuzz_put_number(to, 4, 4);
    at(to, SEGMENTS);
    put_segment(to, 1, 5, TEXT, FRAMES_HEAD - TEXT);
    put_segment(to, 1, 6, FRAMES_HEAD, END - FRAMES_HEAD);
    put_segment(to, 2, 6, DYNAMIC, NOTE - DYNAMIC);
    put_segment(to, 0x6474e550, 4, FRAMES_HEAD, 8);
    put_segment(to, 4, 4, NOTE, 36);
    at(to, SECTIONS);
    put_section(to, 0, 0, 0, 0);
    put_section(to, 11, SYMBOLS, 96, 2);
    put_section(to, 3, NAMES, 32, 0);
    put_section(to, 2, SYMBOLS, 96, 2);
}

static void put_text(struct fuzz_bytes *to)
{
    static const uint8_t first[] = {
        0x55, 0x48, 0x89, 0xe5,                   /* push %rbp; mov %rsp,%rbp */
        0xb8, 39,   0,    0,    0,    0x0f, 0x05, /* mov $39,%eax; syscall */
        0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff,       /* cmp $-4095,%rax */
        0x73, 0x02,                               /* jae + 2 */
        0x5d, 0xc3,                               /* pop %rbp; ret */
        0xe8, 0x42, 0,    0,    0,                /* call */
        0x0f, 0x05, 0x78, 0xf0, 0x5d, 0xc3,       /* syscall; js; pop; ret */
    };
    static const uint8_t second[] = {
        0x48, 0x8d, 0x15, 0x59, 0x01, 0,    0, /* lea table(%rip),%rdx */
        0x48, 0x63, 0x04, 0xba,                /* movslq (%rdx,%rdi,4),%rax */
        0x48, 0x01, 0xd0, 0x50, 0xff, 0xe0,    /* add; push; jmp *%rax */
        0x8b, 0x05, 0,    0,    0,    0,       /* mov 0(%rip),%eax */
        0x0f, 0x05, 0x90, 0x90, 0x90,          /* syscall; nop ... */
        0xff, 0x25, 0x7e, 0x03, 0,    0,       /* jmp *slot(%rip) */
    };
    at(to, TEXT);
    fuzz_put(to, first, sizeof first);
    at(to, TEXT + 0x40);
    fuzz_put(to, second, sizeof second);
}

/* Functions with the caller's frame and nothing else: one that jumps to others by a table, the
 * first of them right behind it, and one that is entered and left in one window. */
static void put_plain_text(struct fuzz_bytes *to)
{
    static const uint8_t first[] = {
        0x8a, 0x46, 0x10,                            /* mov 16(%rsi),%al */
        0x0f, 0xb6, 0xc0,                            /* movzbl %al,%eax */
        0x48, 0x8d, 0x0d, 0x93, 0x01, 0,    0,       /* lea table(%rip),%rcx */
        0x48, 0x63, 0x04, 0x81, 0x48, 0x01, 0xc8,    /* movslq (%rcx,%rax,4),%rax; add */
        0xff, 0xe0,                                  /* jmp *%rax */
        0xe9, 0x25, 0,    0,    0,                   /* jmp second */
        0x31, 0xc0, 0xc3,                            /* xor %eax,%eax; ret */
        0x85, 0xff, 0x0f, 0x84, 0x1a, 0,    0,    0, /* test; jz second */
        0xeb, 0xd8, 0xc3,                            /* jmp first; ret */
    };
    static const uint8_t second[] = {
        0x8d, 0x47, 0x01, 0xc3,                                     /* lea 1(%rdi),%eax; ret */
        0x66, 0x2e, 0x0f, 0x1f, 0x84, 0,    0,    0,    0,    0,    /* nop */
        0x48, 0x83, 0xec, 0x08, 0xe8, 0xe9, 0xff, 0xff, 0xff, 0xc3, /* sub; call second; ret */
    };
    at(to, TEXT);
    fuzz_put(to, first, sizeof first);
    at(to, TEXT + 0x40);
    fuzz_put(to, second, sizeof second);
}

static void put_entry(struct fuzz_bytes *to, const void *bytes, size_t size_bytes)
{
    size_t padded = (size_bytes + 7) / 8 * 8 + 4;
    fuzz_put_number(to, padded, 4);
    fuzz_put(to, bytes, size_bytes);
    at(to, to->size + padded - size_bytes);
}

static void put_frame(struct fuzz_bytes *to, uint32_t start, uint32_t size_bytes, uint32_t pads,
                      const void *code, size_t code_bytes)
{
    struct fuzz_bytes entry = {0};
    fuzz_put_number(&entry, to->size + 4 - FRAMES, 4);
    fuzz_put_number(&entry, start - (uint32_t)(to->size + 8), 4);
    fuzz_put_number(&entry, size_bytes, 4);
    fuzz_put_number(&entry, 4, 1);
    fuzz_put_number(&entry, pads == 0 ? 0 : pads - (uint32_t)(to->size + 17), 4);
    fuzz_put(&entry, code, code_bytes);
    put_entry(to, entry.data, entry.size);
}

static void put_frames(struct fuzz_bytes *to, bool is_plain)
{
    static const uint8_t common[] = {0,    0,  0, 0,    1,    'z',  'L', 'R', 0,    1,
                                     0x78, 16, 2, 0x1b, 0x1b, 0x0c, 7,   8,   0x90, 1};
    static const uint8_t first[] = {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,
                                    0x0a, 0x50, 0x0c, 7,    8, 0xc6, 0x41, 0x0b};
    static const uint8_t second[] = {0x4e, 0x0e, 16,   0x4f, 0x0f, 3,    0x76, 0x78, 6,    0x10,
                                     6,    2,    0x76, 0,    0x42, 0x09, 3,    12,   0x07, 16};
    at(to, FRAMES_HEAD);
    fuzz_put_number(to, 0x3b031b01, 4);
    fuzz_put_number(to, FRAMES - FRAMES_HEAD - 4, 4);
    at(to, FRAMES);
    put_entry(to, common, sizeof common);
    put_frame(to, TEXT, 0x40, PADS, first, is_plain ? 0 : sizeof first);
    put_frame(to, TEXT + 0x40, 0x30, 0, second, is_plain ? 0 : sizeof second);
    fuzz_put_number(to, 0, 4);
}

static void put_tables(struct fuzz_bytes *to, bool is_plain)
{
    static const uint8_t pads[] = {0xff, 0xff, 1, 4, 4, 4, 0x10, 0};
    static const char names[] = "\0first\0first.cold\0there";
    const uint64_t symbols[][2] = {{TEXT, 0x40}, {TEXT + 0x40, 0x30}, {0, 0}};
    const uint32_t named[] = {1, 7, 18};
    const uint64_t relocations[] = {SLOT, 3ull << 32 | 6, 0, SLOT + 8, 8, TEXT + 4,
                                    SLOT, 3ull << 32 | 7, 0};
    const uint64_t packed[] = {SLOT, 3};
    const uint64_t dynamic[] = {
        5,  NAMES, 6,      SYMBOLS, 10, 32, 7, RELOCATIONS, 8, 48, 23, RELOCATIONS + 48, 2,
        24, 36,    PACKED, 35,      16, 0,  0};
    at(to, PADS);
    fuzz_put(to, pads, sizeof pads);
    at(to, TABLE);
    fuzz_put_number(to, (uint32_t)(TEXT + (is_plain ? 0x16 : 0x51) - TABLE), 4);
    fuzz_put_number(to, (uint32_t)(TEXT + (is_plain ? 0x1b : 0x57) - TABLE), 4);
    at(to, SYMBOLS + 24);
    for (size_t i = 0; i < 3; i++) {
        fuzz_put_number(to, named[i], 4);
        fuzz_put_number(to, 0x12 | (symbols[i][0] != 0 ? 1u << 16 : 0), 4);
        words(to, symbols[i], 2);
    }
    at(to, NAMES);
    fuzz_put(to, names, sizeof names);
    at(to, RELOCATIONS);
    words(to, relocations, 9);
    at(to, PACKED);
    words(to, packed, 2);
    at(to, DYNAMIC);
    words(to, dynamic, sizeof dynamic / sizeof dynamic[0]);
    at(to, NOTE);
    fuzz_put_number(to, 4 | 20ull << 32, 8);
    fuzz_put_number(to, 3, 4);
    fuzz_put(to, "GNU\0a build id of twenty", 24);
    at(to, END);
}

/* The table is a string; verbs and forms go by the size. */
static void seed_strings(const struct fuzz_bytes *binary)
{
    static const char string[] = "opened %d files of table";
    struct fuzz_bytes file = fuzz_copy(binary->data, binary->size);
    fuzz_seed("strings", "table", &file);
    memcpy(file.data + TABLE, string, sizeof string);
    for (char name[] = "string0"; name[6] < '5'; name[6]++) {
        fuzz_seed("strings", name, &file);
        fuzz_put_number(&file, 0, 1);
    }
}

void fuzz_seed_binary(void)
{
    struct fuzz_bytes file = {0};
    struct fuzz_bytes plain = {0};
    put_heads(&file);
    put_text(&file);
    put_frames(&file, false);
    put_tables(&file, false);
    fuzz_seed("binary", "all", &file);
    file.data[60] = 0; /* no sections: symbols by the dynamic section */
    fuzz_seed("binary", "no_sections", &file);
    put_heads(&plain);
    put_plain_text(&plain);
    put_frames(&plain, true);
    put_tables(&plain, true);
    fuzz_seed("binary", "plain", &plain);
    seed_strings(&plain);
    plain.data[SEGMENTS + SEGMENT_BYTES + 4] = 5; /* the tables are in a segment with code */
    fuzz_seed("binary", "one_segment", &plain);
}
