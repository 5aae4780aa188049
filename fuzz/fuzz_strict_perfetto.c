/* A strict reader of Perfetto's protobuf: the messages of
 * tools/export/formats/export_perfetto.proto without any other field, nothing used that was not
 * described, slices that begin and end. */
#include "fuzz_scan.h"
#include "fuzz_verb.h"

enum message {
    TRACE,
    PACKET,
    TRACK,
    PROCESS,
    THREAD,
    EVENT,
    ANNOTATION,
    INTERNED,
    CATEGORY,
    NAME,
    PLACE
};
enum type { NUMBER = 0, DOUBLE = 1, TEXT = 2, MESSAGE = 10 }; /* modulo 8: as on the wire */
enum use { PLAIN, CATEGORIES, NAMES, PLACES, TRACKS, SLICE_TYPE, USE_COUNT };

static const struct field {
    uint8_t message, number, type, inside, use;
    bool defines;
} fields[] = {
    {TRACE, 1, MESSAGE, PACKET, 0, false},
    {PACKET, 8, NUMBER, 0, 0, false},
    {PACKET, 10, NUMBER, 0, 0, false},
    {PACKET, 11, MESSAGE, EVENT, 0, false},
    {PACKET, 12, MESSAGE, INTERNED, 0, false},
    {PACKET, 13, NUMBER, 0, 0, false},
    {PACKET, 60, MESSAGE, TRACK, 0, false},
    {TRACK, 1, NUMBER, 0, TRACKS, true},
    {TRACK, 2, TEXT, 0, 0, false},
    {TRACK, 3, MESSAGE, PROCESS, 0, false},
    {TRACK, 4, MESSAGE, THREAD, 0, false},
    {TRACK, 5, NUMBER, 0, TRACKS, false},
    {PROCESS, 1, NUMBER, 0, 0, false},
    {PROCESS, 6, TEXT, 0, 0, false},
    {THREAD, 1, NUMBER, 0, 0, false},
    {THREAD, 2, NUMBER, 0, 0, false},
    {THREAD, 5, TEXT, 0, 0, false},
    {EVENT, 3, NUMBER, 0, CATEGORIES, false},
    {EVENT, 4, MESSAGE, ANNOTATION, 0, false},
    {EVENT, 9, NUMBER, 0, SLICE_TYPE, false},
    {EVENT, 10, NUMBER, 0, NAMES, false},
    {EVENT, 11, NUMBER, 0, TRACKS, false},
    {EVENT, 34, NUMBER, 0, PLACES, false},
    {ANNOTATION, 3, NUMBER, 0, 0, false},
    {ANNOTATION, 4, NUMBER, 0, 0, false},
    {ANNOTATION, 5, DOUBLE, 0, 0, false},
    {ANNOTATION, 6, TEXT, 0, 0, false},
    {ANNOTATION, 7, NUMBER, 0, 0, false},
    {ANNOTATION, 10, TEXT, 0, 0, false},
    {INTERNED, 1, MESSAGE, CATEGORY, 0, false},
    {INTERNED, 2, MESSAGE, NAME, 0, false},
    {INTERNED, 4, MESSAGE, PLACE, 0, false},
    {CATEGORY, 1, NUMBER, 0, CATEGORIES, true},
    {CATEGORY, 2, TEXT, 0, 0, false},
    {NAME, 1, NUMBER, 0, NAMES, true},
    {NAME, 2, TEXT, 0, 0, false},
    {PLACE, 1, NUMBER, 0, PLACES, true},
    {PLACE, 2, TEXT, 0, 0, false},
    {PLACE, 3, TEXT, 0, 0, false},
    {PLACE, 4, NUMBER, 0, 0, false},
};

struct perfetto {
    struct fuzz_bytes counts[USE_COUNT]; /* by id: 1 when it is known; of a track and its slices */
    uint64_t slice_type, open;
};

static uint64_t take_varint(struct fuzz_scan *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        FUZZ_REQUIRE(s->at < s->end && (shift < 63 || *s->at == 1));
        value |= (uint64_t)(*s->at & 0x7f) << shift;
        if (*s->at++ < 0x80)
            return value;
    }
}

static struct fuzz_scan take_bytes(struct fuzz_scan *s)
{
    uint64_t size = take_varint(s);
    FUZZ_REQUIRE(size <= (uint64_t)(s->end - s->at));
    s->at += size;
    return (struct fuzz_scan){s->at - size, s->at};
}

static const struct field *take_key(struct fuzz_scan *s, unsigned message)
{
    uint64_t key = take_varint(s);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].message == message && fields[i].number == key >> 3) {
            FUZZ_REQUIRE(fields[i].type % 8 == key % 8);
            return &fields[i];
        }
    FUZZ_REQUIRE(!"the field is one of the schema's");
    return NULL;
}

static void use_number(struct perfetto *p, const struct field *field, uint64_t value)
{
    if (field->use == SLICE_TYPE)
        p->slice_type = value;
    if (field->use == PLAIN || field->use == SLICE_TYPE)
        return;
    uint32_t *count = fuzz_count_of(&p->counts[field->use], value);
    FUZZ_REQUIRE((*count == 0) == field->defines);
    *count += field->defines;
    if (field->message != EVENT || field->use != TRACKS)
        return;
    FUZZ_REQUIRE(p->slice_type >= 1 && p->slice_type <= 3); /* begin, end, instant */
    FUZZ_REQUIRE(p->slice_type != 2 || *count > 1);
    *count += p->slice_type == 1 ? 1u : p->slice_type == 2 ? UINT32_MAX : 0u;
    p->open += p->slice_type == 1 ? 1u : p->slice_type == 2 ? UINT64_MAX : 0u;
}

/* What a packet interns counts for the packet's event already, which stands before it. */
static void take_message(struct perfetto *p, struct fuzz_scan s, unsigned message)
{
    for (struct fuzz_scan again = s; message == PACKET && again.at < again.end;) {
        const struct field *field = take_key(&again, message);
        if (field->type == NUMBER)
            (void)take_varint(&again);
        else if (field->inside == INTERNED)
            take_message(p, take_bytes(&again), INTERNED);
        else
            (void)take_bytes(&again);
    }
    while (s.at < s.end) {
        const struct field *field = take_key(&s, message);
        if (field->type == NUMBER) {
            use_number(p, field, take_varint(&s));
        } else if (field->type == DOUBLE) {
            FUZZ_REQUIRE(s.end - s.at >= 8);
            s.at += 8;
        } else {
            struct fuzz_scan inside = take_bytes(&s);
            struct fuzz_bytes text = {(uint8_t *)(uintptr_t)inside.at,
                                      (size_t)(inside.end - inside.at), 0};
            if (field->type == TEXT)
                fuzz_require_clean(&text);
            else if (field->inside != INTERNED)
                take_message(p, inside, field->inside);
        }
    }
}

void fuzz_require_perfetto(const struct fuzz_bytes *bytes)
{
    struct perfetto p = {0};
    take_message(&p, fuzz_scan(bytes), TRACE);
    FUZZ_REQUIRE(p.open == 0);
}
