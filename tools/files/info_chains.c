/* Records and chains of partitions, the most frequent first. A chain can be as long as its
 * partition: what is printed of it is its start; as JSON also its items, of which no one is
 * printed twice. */
#include "tools/files/info_chains.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/command/pager.h"
#include "tools/io/table.h"

#define EVENTS_SHOWN     8u /* of a chain, as text */
#define EVENTS_JSON      64u
#define SUCCESSORS_SHOWN 3u

static const char *const forms[] = {
    [TTAPE_ORDER_RAW] = "raw", [TTAPE_ORDER_LITERAL] = "literal", [TTAPE_ORDER_FULL] = "full"};

/* One partition. */
struct part {
    struct tool_info_chains *view;
    const ttape_chains *chains;
    ttape_chains_info info;
    uint32_t number;
    struct rank *ranks; /* chains that occur, the most used first */
    uint32_t used, shown_chains, shown_records;
    struct tool_output text; /* of a cell */
};

struct rank {
    uint64_t uses, length;
    uint32_t chain;
};

static int by_uses(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->uses != y->uses)
        return x->uses > y->uses ? -1 : 1;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->chain < y->chain ? -1 : x->chain > y->chain;
}

static void rank_chains(struct part *part)
{
    part->ranks = tool_allocate(part->info.chain_count + 1u, sizeof *part->ranks);
    for (uint32_t i = 0; i < part->info.chain_count; i++) {
        ttape_chain chain;
        (void)ttape_chains_get_chain(part->chains, i, &chain);
        if (chain.use_count != 0)
            part->ranks[part->used++] = (struct rank){chain.use_count, chain.length, i};
    }
    qsort(part->ranks, part->used, sizeof *part->ranks, by_uses);
    uint64_t limit = part->view->limit;
    part->shown_chains = part->used < limit ? part->used : (uint32_t)limit;
    part->shown_records =
        part->info.record_count < limit ? part->info.record_count : (uint32_t)limit;
}

static uint32_t site_kind(const struct tool_info_chains *view, uint32_t site)
{
    ttape_site found;
    return ttape_reader_get_site(view->input->reader, site, &found) == TTAPE_OK ? found.kind : 0;
}

static const char *kind_name(const struct tool_info_chains *view, const ttape_chain_item *event)
{
    return ttape_event_kind_name(event->kind, site_kind(view, event->site));
}

/* ---- text ---- */

static void put_event(struct part *part, const ttape_chain_item *event)
{
    tool_output_text(&part->text, kind_name(part->view, event));
    if (event->site != TTAPE_NONE)
        tool_output_printf(&part->text, " %s", tool_site_name(&part->view->names, event->site));
    else if (event->kind == TTAPE_EVENT_GAP)
        tool_output_printf(&part->text, " %s", ttape_gap_reason_name(event->argument));
    else
        tool_output_printf(&part->text, " %" PRIu32, event->argument);
}

/* The text that was put, as the next cell. */
static void put_cell(struct part *part, struct tool_table *table)
{
    tool_table_bytes(table, TOOL_PLAIN, part->text.data, part->text.size_bytes);
    part->text.size_bytes = 0;
}

static void print_table(struct part *part, struct tool_table *table)
{
    tool_table_print(table, part->view->out,
                     tool_table_width(table, part->view->names.is_shortened),
                     tool_terminal_colours());
    tool_table_close(table);
}

static void print_more(struct part *part, uint32_t shown, uint32_t count, const char *what)
{
    if (shown < count)
        tool_output_printf(part->view->out, "... %" PRIu32 " more %s (--limit, --all)\n",
                           count - shown, what);
}

/* Successors of a record that reach the threshold. */
static const ttape_successor *successors_of(const struct part *part, uint32_t record,
                                            uint32_t *count)
{
    uint32_t all;
    const ttape_successor *s = ttape_chains_get_successors(part->chains, record, &all);
    for (*count = 0; *count < all && s[*count].count >= part->view->threshold;)
        ++*count;
    return s;
}

static void put_record(struct part *part, struct tool_table *table, uint32_t record,
                       const ttape_sequence_record *r)
{
    uint32_t count;
    const ttape_successor *s = successors_of(part, record, &count);
    tool_table_count(table, TOOL_PLAIN, r->count);
    put_event(part, &r->event);
    put_cell(part, table);
    for (uint32_t i = 0; i < count && i < SUCCESSORS_SHOWN; i++) {
        tool_output_text(&part->text, i == 0 ? "" : ", ");
        put_event(part, &s[i].event);
        tool_output_printf(&part->text, " %" PRIu64, s[i].count);
    }
    if (count > SUCCESSORS_SHOWN)
        tool_output_printf(&part->text, ", ... %" PRIu32 " more", count - SUCCESSORS_SHOWN);
    put_cell(part, table);
}

static void print_records(struct part *part)
{
    static const struct tool_column columns[] = {
        {.title = "count"},
        {.title = "event", .is_text = true},
        {.title = "immediately after it, how often", .is_text = true, .gives_way = true}};
    struct tool_table table;
    uint32_t count;
    const ttape_sequence_record *records = ttape_chains_get_records(part->chains, &count);
    tool_table_open(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < part->shown_records; i++)
        put_record(part, &table, i, &records[i]);
    print_table(part, &table);
    print_more(part, part->shown_records, count, "records");
}

static void put_chain(struct part *part, struct tool_table *table, uint32_t number)
{
    ttape_chain_item events[EVENTS_SHOWN];
    ttape_chain chain;
    (void)ttape_chains_get_chain(part->chains, number, &chain);
    tool_table_count(table, TOOL_PLAIN, number);
    tool_table_count(table, TOOL_PLAIN, chain.use_count);
    tool_table_count(table, TOOL_PLAIN, chain.length);
    tool_table_count(table, TOOL_PLAIN, chain.event_count);
    size_t shown = ttape_chains_get_events(part->chains, number, events, EVENTS_SHOWN);
    for (size_t i = 0; i < shown; i++) {
        tool_output_text(&part->text, i == 0 ? "" : ", ");
        put_event(part, &events[i]);
    }
    if (shown < chain.length)
        tool_output_text(&part->text, ", ...");
    put_cell(part, table);
}

static void print_chains(struct part *part)
{
    static const struct tool_column columns[] = {
        {.title = "chain"},
        {.title = "uses"},
        {.title = "length"},
        {.title = "stands for"},
        {.title = "events", .is_text = true, .gives_way = true}};
    struct tool_table table;
    if (part->used == 0)
        return;
    tool_output_text(part->view->out, "\n");
    tool_table_open(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < part->shown_chains; i++)
        put_chain(part, &table, part->ranks[i].chain);
    print_table(part, &table);
    print_more(part, part->shown_chains, part->used, "chains");
}

static void print_part(struct part *part)
{
    const ttape_chains_info *info = &part->info;
    tool_output_printf(part->view->out,
                       "partition %" PRIu32 ": %" PRIu32 " events, order in %s form; %" PRIu64
                       " of them in %" PRIu32 " %s, %" PRIu64 " by themselves\n\n",
                       part->number, info->event_count, forms[info->form], info->chained_count,
                       part->used, part->used == 1 ? "chain" : "chains",
                       info->event_count - info->chained_count);
    tool_output_open(&part->text, -1);
    print_records(part);
    print_chains(part);
    free(part->text.data);
}

/* ---- JSON ---- */

static void json_event(struct part *part, const char *key, const ttape_chain_item *event)
{
    struct tool_json *json = part->view->json;
    char buffer[TOOL_LABEL_BYTES];
    tool_json_begin(json, key, '{');
    tool_json_text(json, "kind", kind_name(part->view, event));
    if (event->site != TTAPE_NONE)
        tool_json_string(json, "function", tool_site_word(&part->view->names, event->site, buffer));
    else
        tool_json_number(json, "argument", event->argument);
    tool_json_end(json, '}');
}

static void json_record(struct part *part, uint32_t record, const ttape_sequence_record *r)
{
    struct tool_json *json = part->view->json;
    uint32_t count;
    const ttape_successor *s = successors_of(part, record, &count);
    tool_json_begin(json, NULL, '{');
    json_event(part, "event", &r->event);
    tool_json_number(json, "count", r->count);
    tool_json_number(json, "successor_count", count);
    tool_json_begin(json, "successors", '[');
    for (uint32_t i = 0; i < count && i < part->view->limit; i++) {
        tool_json_begin(json, NULL, '{');
        json_event(part, "event", &s[i].event);
        tool_json_number(json, "count", s[i].count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

/* Chains in it by their numbers. */
static void json_items(struct part *part, uint32_t number)
{
    struct tool_json *json = part->view->json;
    uint32_t count;
    const ttape_chain_item *items = ttape_chains_get_items(part->chains, number, &count);
    tool_json_begin(json, "items", '[');
    for (uint32_t i = 0; i < count; i++)
        if (items[i].chain != TTAPE_NONE)
            tool_json_number(json, NULL, items[i].chain);
        else
            json_event(part, NULL, &items[i]);
    tool_json_end(json, ']');
}

static void json_chain(struct part *part, uint32_t number)
{
    struct tool_json *json = part->view->json;
    ttape_chain_item events[EVENTS_JSON];
    ttape_chain chain;
    (void)ttape_chains_get_chain(part->chains, number, &chain);
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "chain", number);
    tool_json_number(json, "uses", chain.use_count);
    tool_json_number(json, "length", chain.length);
    tool_json_number(json, "stands_for", chain.event_count);
    tool_json_bool(json, "of_model", chain.is_primed);
    json_items(part, number);
    size_t shown = ttape_chains_get_events(part->chains, number, events, EVENTS_JSON);
    tool_json_begin(json, "events", '[');
    for (size_t i = 0; i < shown; i++)
        json_event(part, NULL, &events[i]);
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void json_part(struct part *part)
{
    struct tool_json *json = part->view->json;
    uint32_t count;
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "partition", part->number);
    tool_json_text(json, "form", forms[part->info.form]);
    tool_json_number(json, "events", part->info.event_count);
    tool_json_number(json, "chained_events", part->info.chained_count);
    tool_json_number(json, "record_count", part->info.record_count);
    tool_json_number(json, "chain_count", part->used);
    tool_json_begin(json, "records", '[');
    const ttape_sequence_record *records = ttape_chains_get_records(part->chains, &count);
    for (uint32_t i = 0; i < part->shown_records; i++)
        json_record(part, i, &records[i]);
    tool_json_end(json, ']');
    tool_json_begin(json, "chains", '[');
    for (uint32_t i = 0; i < part->shown_chains; i++)
        json_chain(part, part->ranks[i].chain);
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

/* ---- partitions ---- */

static ttape_status print_partition(struct tool_info_chains *view, uint32_t number,
                                    ttape_error *err)
{
    ttape_chains *chains;
    ttape_status status = ttape_chains_make(&chains, view->input->reader, number, err);
    if (status != TTAPE_OK)
        return status;
    struct part part = {.view = view, .chains = chains, .number = number};
    ttape_chains_get_info(chains, &part.info);
    rank_chains(&part);
    if (view->json != NULL)
        json_part(&part);
    else
        print_part(&part);
    free(part.ranks);
    ttape_chains_close(chains);
    return TTAPE_OK;
}

int tool_info_print_chains(struct tool_info_chains *view)
{
    ttape_info info;
    ttape_error err;
    uint64_t failures = 0;
    int status = TOOL_OK;
    ttape_reader_get_info(view->input->reader, &info);
    uint64_t end = view->to < info.partition_count ? view->to : info.partition_count;
    if (view->json != NULL)
        tool_json_begin(view->json, "chain_list", '[');
    for (uint64_t i = view->from; i < end && view->out->failed_errno == 0; i++) {
        if (view->json == NULL && i != view->from)
            tool_output_text(view->out, "\n");
        if (print_partition(view, (uint32_t)i, &err) != TTAPE_OK &&
            !tool_input_go_on(view->input, &err, &failures, &status))
            break;
    }
    if (view->json != NULL)
        tool_json_end(view->json, ']');
    else if (end < info.partition_count)
        tool_output_printf(view->out, "\n... %" PRIu64 " more partitions (--partition, --all)\n",
                           info.partition_count - end);
    return status;
}
