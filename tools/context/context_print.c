/* Answers as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/stream_choice.h"
#include "tools/command/tool.h"
#include "tools/context/context_turns.h"
#include "tools/io/json.h"

#define VALUE_BYTES 40u
#define TEXT_MORE   2u /* times as much of the text as the next stack: likely */

const char *tool_context_certainty(const struct tool_context_wanted *wanted)
{
    const struct tool_context_answer *answers = wanted->answers;
    size_t shown = tool_context_shown(wanted);
    if (wanted->answer_count == 0)
        return "not found";
    if (wanted->answer_count == 1 && wanted->more == 0)
        return answers[0].is_searched ? "likely" : "certain";
    /* by the text, it is never certain */
    bool is_told = wanted->has_text && wanted->more == 0 && answers[0].printed.score != 0;
    if (is_told && (shown == 1 || answers[0].printed.score / TEXT_MORE >= answers[1].printed.score))
        return "likely";
    return "open";
}

static const char *put_value(char *text, const struct tool_context_wanted *wanted)
{
    if (wanted->depth == TOOL_CONTEXT_ANY_DEPTH)
        (void)snprintf(text, VALUE_BYTES, "%016" PRIx64, wanted->value);
    else
        (void)snprintf(text, VALUE_BYTES, "%016" PRIx64 "/%" PRIu32, wanted->value, wanted->depth);
    return text;
}

static const char *source(const struct tool_context_answer *answer)
{
    if (answer->is_searched)
        return "graph";
    return answer->is_in_dictionary
               ? answer->is_in_recording ? "dictionary, recording" : "dictionary"
               : "recording";
}

static const char *name_of(const struct tool_context_answer *answer, uint32_t function)
{
    return answer->names[function] != NULL ? answer->names[function] : "?";
}

static void print_answer(const struct tool_context_answer *answer, struct tool_output *out)
{
    char call[TOOL_CALL_ID_BYTES], text[TOOL_PRINTED_BYTES];
    tool_output_printf(out, "  %s", source(answer));
    if (answer->is_in_recording)
        tool_output_printf(out, ": entered %" PRIu64 " times, first %s at +%.6f s", answer->entered,
                           tool_put_call(call, answer->first_stream, answer->first_event),
                           (double)answer->first_ns / 1e9);
    if (answer->is_searched && answer->news != 0)
        tool_output_printf(out, ": calls that no trace shows: %" PRIu32, answer->news);
    if (answer->printed.score != 0) {
        tool_output_printf(out, ": %s has \"%s\"", name_of(answer, answer->printed.at),
                           tool_printers_string(answer->printed.string, text));
    }
    tool_output_text(out, "\n");
    tool_context_put_stack(answer, "    ", "\n", out);
    tool_output_text(out, answer->depth != 0 ? "\n" : "");
    if (answer->reentry != 0)
        tool_output_printf(out,
                           "    RE-ENTRY: %s is called back by what has no hooks; that was given "
                           "its address, and is in no value\n",
                           name_of(answer, answer->reentry));
    if (answer->may_leave)
        tool_output_printf(out,
                           "    NO RE-ENTRY: %s calls through pointers; what has no hooks there is "
                           "in no value\n",
                           name_of(answer, answer->depth - 1));
}

/* What the text says. */
static void print_with_text(const struct tool_context_wanted *wanted, struct tool_output *out)
{
    if (!wanted->has_text || wanted->answer_count == 0)
        return;
    if (wanted->answers[0].printed.score == 0)
        tool_output_text(out, wanted->answer_count == 1
                                  ? ", whose functions have nothing of the text"
                                  : ", their functions have nothing of the text");
    else if (wanted->without != 0)
        tool_output_printf(out, ", %zu with something of the text", tool_context_shown(wanted));
}

void tool_context_text(const struct tool_contexts *contexts, struct tool_output *out)
{
    char text[VALUE_BYTES];
    for (size_t i = 0; i < contexts->count; i++) {
        const struct tool_context_wanted *wanted = &contexts->wanted[i];
        tool_output_printf(out, "%s: %s", put_value(text, wanted), tool_context_certainty(wanted));
        if (wanted->more != 0 && wanted->answers[0].is_searched) /* it meets some several times */
            tool_output_printf(out, ", more than %u stacks have it", TOOL_CONTEXT_ANSWERS_MAX);
        else if (wanted->answer_count > 1)
            tool_output_printf(out, ", %" PRIu64 " stacks have it",
                               (uint64_t)wanted->answer_count + wanted->more);
        print_with_text(wanted, out);
        tool_output_text(out, "\n");
        for (size_t a = 0; a < tool_context_shown(wanted); a++)
            print_answer(&wanted->answers[a], out);
    }
}

static void json_recursions(struct tool_json *json, const struct tool_context_answer *answer)
{
    struct tool_context_turn *turns = tool_allocate((size_t)answer->depth + 1, sizeof *turns);
    uint32_t count = tool_context_turns(answer->ids, answer->depth, turns);
    tool_json_begin(json, "recursions", '[');
    for (uint32_t i = 0; i < count; i++) {
        if (turns[i].times == 1)
            continue;
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "first", turns[i].first);
        tool_json_number(json, "functions", turns[i].length);
        tool_json_number(json, "times", turns[i].times);
        if (answer->is_xor)
            tool_json_text(json, "times_are", turns[i].times % 2 == 0 ? "even" : "odd");
        if (answer->is_any_times)
            tool_json_number(json, "times_up_to", TOOL_TURN_TIMES_MAX - turns[i].times % 2);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    free(turns);
}

static void json_answer(struct tool_json *json, const struct tool_context_answer *answer)
{
    char call[TOOL_CALL_ID_BYTES], text[TOOL_PRINTED_BYTES];
    tool_json_begin(json, NULL, '{');
    tool_json_bool(json, "in_dictionary", answer->is_in_dictionary);
    tool_json_bool(json, "in_recording", answer->is_in_recording);
    tool_json_bool(json, "searched", answer->is_searched);
    tool_json_bool(json, "no_reentry", answer->may_leave);
    tool_json_number_if(json, "reentry", answer->reentry != 0, answer->reentry);
    if (answer->is_in_recording) {
        tool_json_number(json, "entered", answer->entered);
        tool_json_text(json, "first_call",
                       tool_put_call(call, answer->first_stream, answer->first_event));
        tool_json_signed(json, "first_ns", answer->first_ns);
    }
    if (answer->is_searched) {
        tool_json_number(json, "new_calls", answer->news);
        tool_json_number(json, "unknown_calls", answer->unknown);
    }
    if (answer->printed.score != 0) {
        tool_json_begin(json, "text", '{');
        tool_json_text(json, "function", name_of(answer, answer->printed.at));
        tool_json_text(json, "string", tool_printers_string(answer->printed.string, text));
        tool_json_number(json, "bytes", answer->printed.bytes);
        tool_json_end(json, '}');
    }
    tool_json_begin(json, "functions", '[');
    for (uint32_t i = 0; i < answer->depth; i++)
        tool_json_text(json, NULL, name_of(answer, i));
    tool_json_end(json, ']');
    json_recursions(json, answer);
    tool_json_end(json, '}');
}

void tool_context_json(const struct tool_contexts *contexts, struct tool_output *out)
{
    struct tool_json json;
    char text[VALUE_BYTES];
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '[');
    for (size_t i = 0; i < contexts->count; i++) {
        const struct tool_context_wanted *wanted = &contexts->wanted[i];
        tool_json_begin(&json, NULL, '{');
        tool_json_text(&json, "value", put_value(text, wanted));
        tool_json_text(&json, "certainty", tool_context_certainty(wanted));
        tool_json_number_if(&json, "looked_at", wanted->looked != 0, wanted->looked);
        tool_json_number(&json, "stack_count", wanted->answer_count + wanted->more);
        if (wanted->has_text)
            tool_json_number(&json, "without_text", wanted->without);
        tool_json_begin(&json, "stacks", '[');
        for (size_t a = 0; a < tool_context_shown(wanted); a++)
            json_answer(&json, &wanted->answers[a]);
        tool_json_end(&json, ']');
        tool_json_end(&json, '}');
    }
    tool_json_end(&json, ']');
    tool_output_text(out, "\n");
}
