/* Broken lists of longest calls (F-OVR-11, F-OVR-12), of three partitions' overview: field 6, its
 * last one, is made anew. */
#include "format/container/measures/listed.h"
#include "invalid_vectors.h"

enum { ROWS = 4, ROOM = 16384, CALLS = 32, NODES = 8 };

/* By their first call: rows of the trace's functions. */
enum { OUTER, INNER, LEAST };

struct parts {
    struct ttp_overview head;
    struct ttp_measure rows[ROWS];
    struct ttp_listed listed;
    uint8_t counts[ROWS];
    struct ttp_listed_call calls[CALLS];
    struct ttp_listed_node nodes[NODES];
    uint32_t first[ROWS]; /* call of each row */
    size_t less;          /* bytes that are missing at the end */
};

static void need(ttape_status status) { ttest_require(status == TTAPE_OK, "the base's list"); }

static struct ttest_bytes *content_of(struct ttest_file *file)
{
    return &ttest_chunk_of(file, TTP_CHUNK_OVERVIEW, 0)->content;
}

static struct parts *take_apart(struct ttest_file *file)
{
    struct parts *p = ttest_take(sizeof *p);
    struct ttest_bytes *content = content_of(file);
    struct ttp_listed *l = &p->listed;
    need(ttp_overview_open(content->data, content->size, &p->head, NULL));
    const uint8_t *summary = p->head.fields[TTP_OVERVIEW_SUMMARY].data;
    size_t size = p->head.fields[TTP_OVERVIEW_SUMMARY].size_bytes;
    need(ttp_summary_count(summary, size, &l->row_count, NULL));
    ttest_require(l->row_count <= ROWS, "the base has more functions");
    need(ttp_summary_read(summary, size, true, p->rows, l->row_count, NULL));
    l->rows = p->rows;
    l->counts = p->counts;
    l->calls = p->calls;
    l->nodes = p->nodes;
    for (uint32_t i = 0; i < 3; i++) /* as every round starts */
        l->first_ticks[i] = 1000 + 100000000ll * i;
    need(ttp_listed_count(&p->head, l, NULL));
    ttest_require(l->call_count < CALLS && l->node_count < NODES, "the base lists more calls");
    need(ttp_listed_read(&p->head, l, NULL));
    for (uint32_t i = 1; i < l->row_count; i++)
        p->first[i] = p->first[i - 1] + p->counts[i - 1];
    return p;
}

static void put_together(struct ttest_file *file, struct parts *p)
{
    struct ttest_bytes *to = content_of(file);
    uint8_t *room = ttest_take(ROOM), head[TTP_OVERVIEW_HEAD_BOUND];
    size_t old = p->head.fields[TTP_OVERVIEW_LISTED].size_bytes;
    size_t size = ttp_listed_write(&p->listed, room, ROOM) - p->less;
    to->size -= old + ttp_overview_field_write(TTP_OVERVIEW_LISTED, old, head);
    ttest_put(to, head, ttp_overview_field_write(TTP_OVERVIEW_LISTED, size, head));
    ttest_put(to, room, size);
}

/* `c`: the longest call of "inner", of which all is known. */
#define EDIT(name, statement)                                                                      \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct parts *p = take_apart(file);                                                        \
        struct ttp_listed_call *c = &p->calls[p->first[INNER]];                                    \
        ttest_require(c[0].is_known &&c[1].is_known, "the base knows nothing of calls");           \
        statement;                                                                                 \
        put_together(file, p);                                                                     \
    }

/* F-OVR-11 */
EDIT(cut, p->less = 9)
EDIT(many_nodes, p->listed.node_count = 0)
EDIT(more_calls, p->listed.call_count++)
EDIT(fewer_calls, p->listed.call_count--)
EDIT(other_class, p->nodes[0].event_class = TTP_CLASS_LEAF)
EDIT(other_partition, c[1].partition = 3)
EDIT(other_segment, c[1].segment = 2)
EDIT(before_all, c[1].enter_event = UINT32_MAX)
EDIT(behind_all, c[1].end_event = 1000)
EDIT(no_event, c[1].end_event = c[1].enter_event)
EDIT(other_stack, c[1].stack = 1 << 20)
EDIT(no_node, c[1].path = 4)
EDIT(too_short, p->calls[p->listed.call_count - 1].duration_ticks = -1)
/* F-OVR-12 */
EDIT(shorter, c[2].duration_ticks--)
EDIT(earlier, c[1].partition = c[1].partition != 0 ? 0 : 1)
EDIT(stream, p->calls[p->first[LEAST]].segment = 0)
EDIT(unwound, c[0].is_unwound = true)
EDIT(stack, c[0].stack = 1)
EDIT(enter_event, c[0].enter_event--)
EDIT(end_event, c[0].end_event--)
EDIT(enter_tick, c[0].enter_tick++)
EDIT(self, c[0].self_ticks--)
EDIT(path, c[0].path = 0)
EDIT(site_of_path, p->nodes[0].argument = 2)
EDIT(known, (p->calls[p->first[OUTER]].is_known = true, p->calls[p->first[OUTER]].end_event = 1))

#define C   TTAPE_E_CORRUPT
#define ALL TTEST_ALL

static const struct ttest_break breaks[] = {
    {"ovr-11-cut", "F-OVR-11", C, ALL, "nine bytes of the longest calls are missing", cut, NULL},
    {"ovr-11-nodes", "F-OVR-11", C, ALL, "paths without their frames", many_nodes, NULL},
    {"ovr-11-more", "F-OVR-11", C, ALL, "a call less than it says", more_calls, NULL},
    {"ovr-11-fewer", "F-OVR-11", C, ALL, "a call more than it says", fewer_calls, NULL},
    {"ovr-11-class", "F-OVR-11", C, ALL, "a leaf below a call", other_class, NULL},
    {"ovr-11-partition", "F-OVR-11", C, ALL, "a call of a fourth partition", other_partition, NULL},
    {"ovr-11-segment", "F-OVR-11", C, ALL, "a call of a third segment", other_segment, NULL},
    {"ovr-11-before", "F-OVR-11", C, ALL, "entered by event 2^32 - 1", before_all, NULL},
    {"ovr-11-behind", "F-OVR-11", C, ALL, "ended behind its segment", behind_all, NULL},
    {"ovr-11-at-once", "F-OVR-11", C, ALL, "ended by the event that entered it", no_event, NULL},
    {"ovr-11-stack", "F-OVR-11", C, ALL, "on stack 2^20", other_stack, NULL},
    {"ovr-11-path", "F-OVR-11", C, ALL, "from a frame that is not there", no_node, NULL},
    {"ovr-11-short", "F-OVR-11", C, ALL, "shorter than the shortest", too_short, NULL},
    {"ovr-12-duration", "F-OVR-12", C, ALL, "a tick too short", shorter, NULL},
    {"ovr-12-partition", "F-OVR-12", C, ALL, "in another partition", earlier, NULL},
    {"ovr-12-segment", "F-OVR-12", C, ALL, "of the other stream", stream, NULL},
    {"ovr-12-unwound", "F-OVR-12", C, ALL, "unwound", unwound, NULL},
    {"ovr-12-stack", "F-OVR-12", C, ALL, "on another stack", stack, NULL},
    {"ovr-12-enter", "F-OVR-12", C, ALL, "entered an event earlier", enter_event, NULL},
    {"ovr-12-end", "F-OVR-12", C, ALL, "ended an event earlier", end_event, NULL},
    {"ovr-12-tick", "F-OVR-12", C, ALL, "entered a tick later", enter_tick, NULL},
    {"ovr-12-self", "F-OVR-12", C, ALL, "a tick less of its own", self, NULL},
    {"ovr-12-path", "F-OVR-12", C, ALL, "from nowhere", path, NULL},
    {"ovr-12-site", "F-OVR-12", C, ALL, "from another function", site_of_path, NULL},
    {"ovr-12-known", "F-OVR-12", C, ALL, "known of one that came from before", known, NULL},
};

void ttest_make_invalid_listed(const struct ttest_output *out)
{
    ttest_emit_breaks_of(out, breaks, sizeof breaks / sizeof breaks[0], ttest_base_rounds);
}
