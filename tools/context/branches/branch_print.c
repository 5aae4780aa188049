/* What branch values say, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/context/branches/branch_counts.h"
#include "tools/context/branches/branch_view.h"
#include "tools/io/json.h"

#define WAYS_SHOWN   64u
#define BLOCKS_MOST  4096u
#define STATES_MOST  ((size_t)1 << 20)
#define STEPS_MOST   (UINT64_C(1) << 24)
#define LONG_WAY     200u /* blocks; of a longer one it is shown how often each ran */
#define PRIMES_TIMES 64u  /* more do not fit into 64 bits */

/* -- what is asked -- */

static const char *parse_value(const char *text, ttape_branch_operation operation,
                               ttape_branch *value)
{
    size_t most = operation == TTAPE_BRANCH_COUNTS ? 2 * TTAPE_BRANCH_COUNTERS : 16, at = 0;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    for (; at < most && tool_hex_digit(text[at]) >= 0; at++) {
        uint64_t digit = (uint64_t)tool_hex_digit(text[at]);
        if (operation == TTAPE_BRANCH_COUNTS)
            value->counts[at / 2] |= (uint8_t)(digit << (at % 2 == 0 ? 4 : 0));
        else
            value->value = value->value << 4 | digit;
    }
    bool is_whole = operation != TTAPE_BRANCH_COUNTS || at == most;
    return at == 0 || !is_whole ? NULL : text + at;
}

bool tool_branch_parse(const char *text, ttape_branch_operation operation,
                       struct tool_branch_wanted *wanted)
{
    *wanted = (struct tool_branch_wanted){.text = text, .blocks = TOOL_BRANCH_ANY_BLOCKS};
    const char *at = parse_value(text, operation, &wanted->value);
    if (at == NULL)
        return false;
    if (*at == '/') {
        uint64_t number = 0;
        if (at[1] < '0' || at[1] > '9')
            return false;
        for (at++; *at >= '0' && *at <= '9'; at++) {
            number = number * 10 + (uint64_t)(*at - '0');
            if (number >= TOOL_BRANCH_ANY_BLOCKS)
                return false;
        }
        wanted->blocks = (uint32_t)number;
    }
    if (*at == '+') {
        wanted->value.flags = TTAPE_BRANCH_OVERFLOW;
        at++;
    }
    return *at == '\0';
}

/* -- answers -- */

struct answer {
    const struct tool_branch_function *function;
    const struct tool_branch_wanted *wanted;
    const char *certainty;
    struct tool_branch_found found;
    uint32_t *ways[WAYS_SHOWN];
    uint32_t sizes[WAYS_SHOWN], count;
    uint32_t *times;    /* counters and primes: how often each block ran */
    bool is_impossible; /* and no way has these counts */
};

static void take_way(void *context, const uint32_t *blocks, uint32_t count)
{
    struct answer *answer = context;
    if (answer->count == WAYS_SHOWN)
        return;
    uint32_t *way = tool_allocate((size_t)count + 1, sizeof *way);
    if (count != 0)
        memcpy(way, blocks, count * sizeof *way);
    answer->ways[answer->count] = way;
    answer->sizes[answer->count++] = count;
}

static uint64_t prime_of(uint32_t number)
{
    uint32_t primes[TTAPE_BRANCH_NUMBERS], count = 0;
    if (number >= TTAPE_BRANCH_NUMBERS)
        return 0;
    for (uint32_t candidate = 2; count <= number; candidate++) {
        bool is_prime = true;
        for (uint32_t i = 0; i < count && is_prime; i++)
            is_prime = candidate % primes[i] != 0;
        if (is_prime)
            primes[count++] = candidate;
    }
    return primes[number];
}

/* How often the prime divides it. */
static uint32_t divide(uint64_t *value, uint32_t number)
{
    uint64_t prime = prime_of(number);
    uint32_t times = 0;
    while (prime != 0 && *value != 0 && *value % prime == 0 && times < PRIMES_TIMES) {
        *value /= prime;
        times++;
    }
    return times;
}

/* Blocks without a number, and counters that stand still, may be anything. */
static enum tool_branch_fit fit_counts(const struct answer *answer,
                                       ttape_branch_operation operation)
{
    const struct tool_branch_function *function = answer->function;
    bool is_primes = operation == TTAPE_BRANCH_PRIMES;
    uint32_t numbers = is_primes ? TTAPE_BRANCH_NUMBERS : TTAPE_BRANCH_COUNTERS;
    if (function->moves_stack || (answer->wanted->value.flags & TTAPE_BRANCH_OVERFLOW) != 0)
        return TOOL_BRANCH_MAY_FIT;
    uint32_t *times = tool_allocate((size_t)function->graph.count + 1, sizeof *times);
    for (uint32_t i = 0; i < function->graph.count; i++) {
        bool is_full = !is_primes && answer->times[i] == UINT8_MAX;
        bool is_free = function->blocks[i].number >= numbers || is_full;
        times[i] = is_free ? TOOL_BRANCH_FREE : answer->times[i];
    }
    enum tool_branch_fit fit = tool_branch_counts_fit(&function->graph, times);
    if (fit != TOOL_BRANCH_FITS) {
        bool *is_unsure = tool_allocate((size_t)function->graph.count + 1, sizeof *is_unsure);
        for (uint32_t i = 0; i < function->graph.count; i++)
            is_unsure[i] = function->blocks[i].is_unsure;
        fit = tool_branch_counts_fit_widely(&function->graph, is_unsure, function->starts_unsure,
                                            times);
        free(is_unsure);
    }
    free(times);
    return fit;
}

static void count_blocks(struct answer *answer, ttape_branch_operation operation)
{
    const struct tool_branch_function *function = answer->function;
    ttape_branch rest = answer->wanted->value;
    uint64_t blocks = 0;
    bool is_open = false;
    answer->times = tool_allocate((size_t)function->graph.count + 1, sizeof *answer->times);
    for (uint32_t i = 0; i < function->graph.count; i++) {
        uint32_t number = function->blocks[i].number;
        if (operation == TTAPE_BRANCH_PRIMES) {
            answer->times[i] = divide(&rest.value, number);
        } else if (number < TTAPE_BRANCH_COUNTERS) {
            answer->times[i] = rest.counts[number];
            is_open |= rest.counts[number] == UINT8_MAX;
            rest.counts[number] = 0;
        }
        blocks += answer->times[i];
    }
    bool fits = operation != TTAPE_BRANCH_PRIMES || rest.value == 1;
    for (uint32_t i = 0; i < TTAPE_BRANCH_COUNTERS; i++)
        fits &= rest.counts[i] == 0;
    if (answer->wanted->blocks != TOOL_BRANCH_ANY_BLOCKS)
        fits &= is_open ? blocks <= answer->wanted->blocks : blocks == answer->wanted->blocks;
    enum tool_branch_fit fit = fits ? fit_counts(answer, operation) : TOOL_BRANCH_MAY_FIT;
    answer->is_impossible = fit == TOOL_BRANCH_FITS_NEVER;
    fits &= !answer->is_impossible;
    answer->certainty = !fits                                ? "not found"
                        : is_open || fit != TOOL_BRANCH_FITS ? "likely"
                                                             : "certain";
    answer->found.ways = fits;
}

/* One way of a known number of blocks, all of which were looked at, has no rival. */
static void find_branches(struct answer *answer)
{
    static const struct tool_branch_bounds bounds = {BLOCKS_MOST, STATES_MOST, STEPS_MOST};
    const struct tool_branch_function *function = answer->function;
    ttape_branch_operation operation = function->graph.operation;
    if (operation >= TTAPE_BRANCH_PRIMES) {
        count_blocks(answer, operation);
        return;
    }
    answer->found = tool_branch_walk(&function->graph, answer->wanted->value.value,
                                     answer->wanted->blocks, &bounds, take_way, answer);
    bool is_sure = answer->found.is_whole && !function->has_unsure && !function->moves_stack;
    answer->certainty = answer->found.ways == 0  ? "not found"
                        : answer->found.ways > 1 ? "open"
                        : is_sure                ? "certain"
                                                 : "likely";
}

/* -- text -- */

static void print_block(const struct tool_branch_block *block, uint64_t times,
                        struct tool_output *out)
{
    tool_output_printf(out, "    %s 0x%" PRIx32, block->place != NULL ? block->place : "?",
                       block->id);
    if (times > 1)
        tool_output_printf(out, ", %" PRIu64 " times", times);
    tool_output_text(out, "\n");
}

static void print_counts(const struct tool_branch_function *function, const uint32_t *times,
                         struct tool_output *out)
{
    for (uint32_t i = 0; i < function->graph.count; i++)
        if (times[i] != 0)
            print_block(&function->blocks[i], times[i], out);
}

static void print_way(const struct tool_branch_function *function, const uint32_t *way,
                      uint32_t count, struct tool_output *out)
{
    if (count > LONG_WAY) {
        uint32_t *times = tool_allocate((size_t)function->graph.count + 1, sizeof *times);
        for (uint32_t i = 0; i < count; i++)
            times[way[i]]++;
        tool_output_printf(out, "  %" PRIu32 " blocks; how often each ran:\n", count);
        print_counts(function, times, out);
        free(times);
        return;
    }
    tool_output_printf(out, "  %" PRIu32 " blocks, in this order:\n", count);
    for (uint32_t i = 0; i < count;) {
        uint32_t same = 1;
        while (i + same < count && way[i + same] == way[i])
            same++;
        print_block(&function->blocks[way[i]], same, out);
        i += same;
    }
}

static void print_limits(const struct answer *answer, struct tool_output *out)
{
    const struct tool_branch_function *function = answer->function;
    if (function->graph.operation >= TTAPE_BRANCH_PRIMES)
        return;
    if (function->graph.operation == TTAPE_BRANCH_XOR &&
        answer->wanted->blocks == TOOL_BRANCH_ANY_BLOCKS)
        tool_output_text(out, "  any loop may have run an even number of times more\n");
    else if (!answer->found.is_whole)
        tool_output_printf(out, "  ways of more than %" PRIu32 " blocks were not all looked at\n",
                           answer->found.blocks);
    if (function->has_unsure)
        tool_output_text(out, "  jumps by a table may lead elsewhere than was taken\n");
    if (function->moves_stack)
        tool_output_text(out, "  blocks behind an alloca are not in the value\n");
}

static void print_text(const struct answer *answer, struct tool_output *out)
{
    const struct tool_branch_function *function = answer->function;
    tool_output_printf(out, "%s: %s", answer->wanted->text, answer->certainty);
    if (function->graph.operation == TTAPE_BRANCH_PRIMES)
        tool_output_printf(out, " (0x%" PRIx64 " = %" PRIu64 ")", answer->wanted->value.value,
                           answer->wanted->value.value);
    if (answer->found.ways > 1)
        tool_output_printf(out, ", %" PRIu64 " ways through %s have it", answer->found.ways,
                           function->name);
    else if (answer->found.ways == 1)
        tool_output_printf(out, ", in %s", function->name);
    tool_output_text(out, "\n");
    if ((answer->wanted->value.flags & TTAPE_BRANCH_OVERFLOW) != 0)
        tool_output_text(out, "  it overflowed: of primes, what ran up to there\n");
    if (answer->is_impossible)
        tool_output_printf(out, "  no way through %s runs these blocks so often:\n",
                           function->name);
    if (answer->times != NULL && (answer->found.ways != 0 || answer->is_impossible))
        print_counts(function, answer->times, out);
    for (uint32_t i = 0; i < answer->count; i++)
        print_way(function, answer->ways[i], answer->sizes[i], out);
    print_limits(answer, out);
}

/* -- JSON -- */

static void json_block(struct tool_json *json, const struct tool_branch_block *block,
                       const uint32_t *times)
{
    char address[16];
    (void)snprintf(address, sizeof address, "0x%" PRIx32, block->id);
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "address", address);
    if (block->place != NULL)
        tool_json_text(json, "place", block->place);
    if (times != NULL)
        tool_json_number(json, "times", *times);
    tool_json_end(json, '}');
}

static void print_json(const struct answer *answer, struct tool_json *json)
{
    const struct tool_branch_function *function = answer->function;
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "value", answer->wanted->text);
    tool_json_text(json, "function", function->name);
    tool_json_text(json, "certainty", answer->certainty);
    tool_json_number(json, "way_count", answer->found.ways);
    if (answer->times != NULL)
        tool_json_bool(json, "is_impossible", answer->is_impossible);
    tool_json_bool(json, "all_looked_at", answer->times != NULL || answer->found.is_whole);
    tool_json_begin(json, "ways", '[');
    for (uint32_t i = 0; i < answer->count; i++) {
        tool_json_begin(json, NULL, '[');
        for (uint32_t k = 0; k < answer->sizes[i]; k++)
            json_block(json, &function->blocks[answer->ways[i][k]], NULL);
        tool_json_end(json, ']');
    }
    tool_json_end(json, ']');
    tool_json_begin(json, "counts", '[');
    for (uint32_t i = 0;
         answer->times != NULL && (answer->found.ways != 0 || answer->is_impossible) &&
         i < function->graph.count;
         i++)
        if (answer->times[i] != 0)
            json_block(json, &function->blocks[i], &answer->times[i]);
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void close_answer(struct answer *answer)
{
    for (uint32_t i = 0; i < answer->count; i++)
        free(answer->ways[i]);
    free(answer->times);
}

int tool_branch_print(const struct tool_branch_function *function,
                      const struct tool_branch_wanted *wanted, size_t count, bool is_json,
                      struct tool_output *out)
{
    struct tool_json json;
    int status = TOOL_OK;
    if (is_json) {
        tool_json_open(&json, out);
        tool_json_begin(&json, NULL, '[');
    }
    for (size_t i = 0; i < count; i++) {
        struct answer answer = {.function = function, .wanted = &wanted[i]};
        find_branches(&answer);
        if (answer.found.ways != 1)
            status = TOOL_FINDING;
        if (is_json)
            print_json(&answer, &json);
        else
            print_text(&answer, out);
        close_answer(&answer);
    }
    if (is_json) {
        tool_json_end(&json, ']');
        tool_output_text(out, "\n");
    }
    return status;
}
