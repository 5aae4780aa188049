/* Strict readers of what `tracetape export` and `graph --format dot` write, JSON and CSV apart. */
#define _GNU_SOURCE
#include "fuzz_scan.h"
#include "fuzz_verb.h"

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* ---- folded ---- */

/* a;b;c 12 */
void fuzz_require_folded(const struct fuzz_bytes *text)
{
    struct fuzz_scan s = fuzz_scan(text);
    fuzz_require_clean(text);
    while (s.at < s.end) {
        struct fuzz_scan line = fuzz_scan_line(&s);
        const uint8_t *blank = memrchr(line.at, ' ', (size_t)(line.end - line.at));
        FUZZ_REQUIRE(blank != NULL && blank > line.at && *line.at != ';' && blank[-1] != ';');
        FUZZ_REQUIRE(memmem(line.at, (size_t)(blank - line.at), ";;", 2) == NULL);
        line.at = blank + 1;
        FUZZ_REQUIRE(fuzz_scan_number(&line) > 0 && line.at == line.end);
    }
}

/* ---- callgrind ---- */

struct callgrind {
    struct fuzz_bytes objects, files, functions, costs;
    uint64_t function, sum;
};

/* (12), and a name where it has none yet */
static uint64_t take_name(struct fuzz_scan *line, struct fuzz_bytes *ids)
{
    fuzz_scan_expect(line, "=(");
    uint64_t id = fuzz_scan_number(line);
    fuzz_scan_expect(line, ")");
    bool is_named = fuzz_scan_take(line, " ");
    FUZZ_REQUIRE(is_named || *fuzz_count_of(ids, id) != 0);
    FUZZ_REQUIRE(!is_named || line->at < line->end);
    *fuzz_count_of(ids, id) = 1;
    line->at = is_named ? line->end : line->at;
    return id;
}

static uint64_t take_cost(struct fuzz_scan line)
{
    (void)fuzz_scan_number(&line);
    fuzz_scan_expect(&line, " ");
    uint64_t cost = fuzz_scan_number(&line);
    FUZZ_REQUIRE(line.at == line.end);
    return cost;
}

static uint64_t take_place(struct callgrind *c, struct fuzz_scan *s, const char *const keys[3])
{
    struct fuzz_bytes *const ids[3] = {&c->objects, &c->files, &c->functions};
    uint64_t id = 0;
    for (int i = 0; i < 3; i++) {
        struct fuzz_scan line = fuzz_scan_line(s);
        fuzz_scan_expect(&line, keys[i]);
        id = take_name(&line, ids[i]);
        FUZZ_REQUIRE(line.at == line.end);
    }
    return id;
}

/* A function: its own time, then its calls. */
static void take_function(struct callgrind *c, struct fuzz_scan *s)
{
    static const char *const own[] = {"ob", "fl", "fn"}, *const called[] = {"cob", "cfi", "cfn"};
    uint32_t *known = fuzz_count_of(&c->costs, take_place(c, s, own));
    FUZZ_REQUIRE(*known == 0);
    *known = 1;
    c->sum += take_cost(fuzz_scan_line(s));
    while (!fuzz_scan_take(s, "\n")) {
        (void)take_place(c, s, called);
        struct fuzz_scan line = fuzz_scan_line(s);
        fuzz_scan_expect(&line, "calls=");
        FUZZ_REQUIRE(take_cost(line) <= UINT32_MAX); /* a line */
        (void)take_cost(fuzz_scan_line(s));
    }
}

void fuzz_require_callgrind(const struct fuzz_bytes *text)
{
    struct fuzz_scan s = fuzz_scan(text), line;
    struct callgrind c = {0};
    fuzz_require_clean(text);
    fuzz_scan_expect(&s, "# callgrind format\nversion: 1\n");
    uint64_t sum = 0;
    for (line = fuzz_scan_line(&s); line.at < line.end; line = fuzz_scan_line(&s)) {
        FUZZ_REQUIRE(fuzz_scan_span(&line, WORD) > 0);
        bool is_sum = memcmp(line.at - 3, "ary", 3) == 0;
        fuzz_scan_expect(&line, ": ");
        sum = is_sum ? fuzz_scan_number(&line) : sum;
    }
    while (s.at < s.end)
        take_function(&c, &s);
    FUZZ_REQUIRE(sum == c.sum);
}

/* ---- DOT ---- */

/* What Graphviz takes as it stands: no escape but for a line's end, quotes and backslashes, no
 * entity but &amp;. */
static void take_quoted(struct fuzz_scan *s)
{
    fuzz_scan_expect(s, "\"");
    while (!fuzz_scan_take(s, "\"")) {
        FUZZ_REQUIRE(s->at < s->end && *s->at != '\n');
        if (fuzz_scan_next_is(s, '&'))
            fuzz_scan_expect(s, "&amp;");
        else if (*s->at++ == '\\')
            FUZZ_REQUIRE(fuzz_scan_take(s, "n") || fuzz_scan_take(s, "l") ||
                         fuzz_scan_take(s, "\"") || fuzz_scan_take(s, "\\"));
    }
}

static void take_attributes(struct fuzz_scan *s)
{
    fuzz_scan_expect(s, " [");
    do {
        FUZZ_REQUIRE(fuzz_scan_span(s, WORD) > 0);
        fuzz_scan_expect(s, "=");
        if (fuzz_scan_next_is(s, '"'))
            take_quoted(s);
        else
            FUZZ_REQUIRE(fuzz_scan_span(s, WORD "0123456789") > 0);
    } while (fuzz_scan_take(s, ", "));
    fuzz_scan_expect(s, "];\n");
}

/* digraph calls { ... }: nodes nN once each, then edges between them */
void fuzz_require_dot(const struct fuzz_bytes *text)
{
    struct fuzz_scan s = fuzz_scan(text);
    struct fuzz_bytes nodes = {0};
    fuzz_require_clean(text);
    fuzz_scan_expect(&s, "digraph calls {\n  charset=\"UTF-8\";\n  node");
    take_attributes(&s);
    fuzz_scan_expect(&s, "  edge");
    take_attributes(&s);
    if (fuzz_scan_take(&s, "  graph")) /* what was lost */
        take_attributes(&s);
    while (fuzz_scan_take(&s, "  n")) {
        uint64_t from = fuzz_scan_number(&s), to = from;
        bool is_edge = fuzz_scan_take(&s, " -> n");
        if (is_edge)
            to = fuzz_scan_number(&s);
        FUZZ_REQUIRE(*fuzz_count_of(&nodes, from) == is_edge &&
                     *fuzz_count_of(&nodes, to) == is_edge);
        *fuzz_count_of(&nodes, from) = 1;
        take_attributes(&s);
    }
    fuzz_scan_expect(&s, "}\n");
    FUZZ_REQUIRE(s.at == s.end);
}
