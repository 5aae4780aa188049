/* System calls that are chosen by what they were given and what became of them. The call waits in
 * the filter; its exit waits for the message with the result, which is the thread's next record.
 * What is not known any more (a handler interrupts the call, a checkpoint comes) does not leave a
 * call out. */
#include "recorder/state/waiting_calls.h"

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "recorder/decode/layouts.h"

#define RESULT_BYTES 9u

bool ttp_wait_is_kept(struct ttp_encode *e, const struct ttp_thread *thread,
                      const struct ttp_call *call, const int64_t *result)
{
    const uint8_t *values = call->values.data;
    uint32_t count =
        values == NULL ? 0 : ttp_decode_values(e, values, values + call->values.count, NULL);
    return e->options.keep_call(e->options.keep_context, ttp_site_at(e, thread, call->site)->line,
                                e->values.data, count, result);
}

/* Of the exit that waits. */
static ttape_status judge_call(struct ttp_encode *e, struct ttp_thread *thread,
                               const int64_t *result, ttape_error *err)
{
    const struct ttp_call_stack *stack = ttp_filter_stack(thread);
    thread->waiting.has_left = false;
    if (stack == NULL || stack->calls.count == 0)
        return TTAPE_OK;
    const struct ttp_call *call = (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    bool is_kept = ttp_wait_is_kept(e, thread, call, result);
    TTP_TRY(ttp_filter_judged(e, thread, is_kept, err));
    uint32_t site = thread->waiting.site;
    const struct ttp_chosen chosen = {site, ttp_site_at(e, thread, site)->select, TTAPE_NONE,
                                      e->options.rules.max_depth, false};
    return is_kept ? ttp_filter_event(e, thread, &thread->waiting.left, &chosen, err) : TTAPE_OK;
}

ttape_status ttp_wait_settle(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    return thread->waiting.has_left ? judge_call(e, thread, NULL, err) : TTAPE_OK;
}

ttape_status ttp_wait_values(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *bytes,
                             uint32_t size_bytes, ttape_error *err)
{
    if (thread->waiting.has_left) {
        bool has_result = size_bytes >= RESULT_BYTES && bytes[0] == TTAPE_VALUE_SIGNED;
        int64_t result = has_result ? (int64_t)ttp_load64(bytes + 1) : 0;
        return judge_call(e, thread, has_result ? &result : NULL, err);
    }
    const struct ttp_call_stack *stack =
        thread->waiting.has_entered ? ttp_filter_stack(thread) : NULL;
    if (stack == NULL || stack->calls.count == 0)
        return TTAPE_OK;
    thread->waiting.has_entered = false;
    struct ttp_call *call = (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    return ttp_push_bytes(&e->allocator, &call->values, bytes, size_bytes, err);
}
