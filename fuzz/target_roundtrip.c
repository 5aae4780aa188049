/* Events to a trace and back: twice the same bytes however they are handed over, sound, and every
 * event as it went in. */
#include <string.h>

#include "fuzz_events.h"
#include "fuzz_trace.h"

#define STEPS_MAX  64u /* few: each is written twice with its self-checks, and read */
#define PARTITIONS 2u

static void require_events(const struct fuzz_program *program, const ttape_source *source)
{
    uint32_t next[FUZZ_STREAMS] = {0}, count = 0;
    ttape_reader *reader;
    ttape_cursor *cursor;
    ttape_event_item item;
    FUZZ_REQUIRE(ttape_reader_open(&reader, source, NULL, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_cursor_open(&cursor, reader, TTAPE_ALL_STREAMS, NULL) == TTAPE_OK);
    for (; ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK; count++)
        fuzz_program_require(program, &item, next);
    FUZZ_REQUIRE(count == program->step_count);
    ttape_cursor_close(cursor);
    ttape_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_program *program =
        fuzz_program_make((struct fuzz_input){data, size}, STEPS_MAX, PARTITIONS);
    ttape_writer_options options = program->options;
    struct fuzz_bytes one, two;
    ttape_status status = fuzz_program_write(program, &options, false, &one);
    options.jobs = options.jobs > 0 ? 0 : options.jobs;
    FUZZ_REQUIRE(fuzz_program_write(program, &options, true, &two) == status);
    if (status == TTAPE_OK) {
        ttape_source source = ttape_source_memory(one.data, one.size);
        FUZZ_REQUIRE(one.size == two.size && memcmp(one.data, two.data, one.size) == 0);
        FUZZ_REQUIRE(size % 4 != 0 || fuzz_trace_verify(&source, NULL) == 0);
        require_events(program, &source);
    } else {
        FUZZ_REQUIRE(status == TTAPE_E_ARGUMENT);
    }
    fuzz_release_all();
    return 0;
}
