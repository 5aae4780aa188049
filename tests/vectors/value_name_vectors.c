/* Names of values, as a writer is told them. */
#include "vectors.h"

static void name_values(struct ttest_trace *t, uint32_t site, const ttape_site_values *values)
{
    ttape_error err = {0};
    ttest_require(ttape_writer_name_values(t->writer, site, values, &err) == TTAPE_OK, err.message);
}

/* What is shown in words: flags, characters, pointers, truth. */
static void put_odd_values(struct ttest_trace *t)
{
    const ttape_value_constant flags[] = {
        {0, ttest_string("NONE")}, {1, ttest_string("READ")}, {4, ttest_string("SYNC")}};
    static const char *const words[6][2] = {{"flags", "enum flags"}, {"more", "enum flags"},
                                            {"key", "const char"},   {"at", "int *"},
                                            {"is_last", "bool"},     {"", "unsigned int"}};
    ttape_value_name names[6] = {{.reserved_count = 0}};
    ttape_value values[7] = {{.number = 5}, {.number = 9}, {.number = 'a'}, {.number = 0x1f00},
                             {.number = 1}, {.number = 7}, {.number = 8}};
    uint32_t site = ttest_site(t, 0x402000, TTAPE_SITE_FUNCTION, "odd"),
             open = ttest_site(t, 0x403000, TTAPE_SITE_FUNCTION, "open");
    for (uint32_t i = 0; i < 6; i++) {
        names[i].name = ttest_string(words[i][0]);
        names[i].type = ttest_string(words[i][1]);
        names[i].constants = i < 2 ? flags : NULL;
        names[i].constant_count = i < 2 ? 3 : 0;
    }
    name_values(
        t, site,
        &(ttape_site_values){.enter = names, .enter_count = 6, .exit = names + 3, .exit_count = 2});
    ttest_enter(t, 0, 30, site);
    ttest_attach(t, 0, values, 7);
    ttest_enter(t, 0, 31, open);
    ttest_attach(t, 0, values, 2);
    ttest_exit(t, 0, 32, open);
    ttest_attach(t, 0, values, 1);
    ttest_exit(t, 0, 40, site);
    ttest_attach(t, 0, values + 3, 3);
}

/* What a structure in registers is made of, and what one is that an address leads to, or not. */
static void make_fields(const struct ttest_output *out)
{
    struct ttest_trace *t = ttest_begin("value-fields",
                                        "fields of a structure, of one that is pointed to, and of "
                                        "a result; two that are not there, one with a dot",
                                        NULL);
    static const char *const words[7][2] = {
        {"p", "struct point *"}, {"s", "struct size"},  {"n", "int"},       {"p.x", "int"},
        {"p.name", "char *"},    {"s.wide.low", "int"}, {"q.x", "unsigned"}};
    static const char *const ends[2][2] = {{"", "struct point"}, {".x", "int"}};
    ttape_value_name names[7] = {{.reserved_count = 0}}, results[2] = {{.reserved_count = 0}};
    ttest_stream(t, ttest_process(t, 100, TTAPE_NONE, "program"), 100, "main");
    uint32_t site = ttest_site(t, 0x401000, TTAPE_SITE_FUNCTION, "move");
    for (uint32_t i = 0; i < 7; i++)
        names[i] = (ttape_value_name){.name = ttest_string(words[i][0]),
                                      .type = ttest_string(words[i][1])};
    for (uint32_t i = 0; i < 2; i++)
        results[i] =
            (ttape_value_name){.name = ttest_string(ends[i][0]), .type = ttest_string(ends[i][1])};
    name_values(
        t, site,
        &(ttape_site_values){.enter = names, .enter_count = 7, .exit = results, .exit_count = 2});
    ttape_value values[7] = {{.type = TTAPE_VALUE_POINTER, .number = 0x7f00},
                             {.type = TTAPE_VALUE_BYTES, .bytes = ttest_string("\7")},
                             {.type = TTAPE_VALUE_SIGNED, .number = 3},
                             {.type = TTAPE_VALUE_SIGNED, .number = 5},
                             {.type = TTAPE_VALUE_STRING, .bytes = ttest_string("here")},
                             {.type = TTAPE_VALUE_SIGNED, .number = 7},
                             {.number = 9}};
    ttest_enter(t, 0, 10, site);
    ttest_attach(t, 0, values, 7);
    ttest_exit(t, 0, 20, site);
    ttest_attach(t, 0, (ttape_value[]){values[0], values[3]}, 2);
    values[0].number = 0;
    values[3] = values[4] = (ttape_value){.type = TTAPE_VALUE_BYTES, .bytes = ttest_string("")};
    ttest_enter(t, 0, 30, site);
    ttest_attach(t, 0, values, 6);
    ttest_exit(t, 0, 40, site);
    ttest_attach(t, 0, values, 1);
    ttest_emit_trace(out, t);
}

void ttest_make_value_names(const struct ttest_output *out)
{
    make_fields(out);
    struct ttest_trace *t = ttest_begin(
        "value-names",
        "names of arguments and results, two enumerations, one of which two sites share, "
        "a site that is named later than one behind it",
        NULL);
    ttest_stream(t, ttest_process(t, 100, TTAPE_NONE, "program"), 100, "main");
    const ttape_value_constant colors[] = {{0, ttest_string("RED")}, {-3, ttest_string("GREEN")}};
    const ttape_value_constant ends[] = {{INT64_MIN, ttest_string("LOW")},
                                         {INT64_MAX, ttest_string("HIGH")}};
    const ttape_value_name text = {.name = ttest_string("path"),
                                   .type = ttest_string("const char *")};
    const ttape_value_name color = {.name = ttest_string("color"),
                                    .type = ttest_string("enum color"),
                                    .constants = colors,
                                    .constant_count = 2,
                                    .enumeration = ttest_string("color")};
    const ttape_value_name end = {
        .type = ttest_string("enum"), .constants = ends, .constant_count = 2};
    const ttape_value_name both[] = {text, color}, number = {.type = ttest_string("int")};
    uint32_t site[3];
    for (uint32_t i = 0; i < 3; i++)
        site[i] = ttest_site(t, 0x401000 + 16 * i, TTAPE_SITE_FUNCTION, i == 0 ? "paint" : "end");
    name_values(t, site[2], &(ttape_site_values){.exit = &color, .exit_count = 1});
    name_values(
        t, site[0],
        &(ttape_site_values){.enter = both, .enter_count = 2, .exit = &number, .exit_count = 1});
    ttape_value values[] = {{.type = TTAPE_VALUE_STRING, .bytes = ttest_string("/a")},
                            {.type = TTAPE_VALUE_SIGNED, .number = 0 - 3ull}};
    ttest_enter(t, 0, 10, site[0]);
    ttest_attach(t, 0, values, 2);
    ttest_exit(t, 0, 20, site[0]);
    ttest_attach(t, 0, values + 1, 1);
    put_odd_values(t);
    ttest_flush(t);
    name_values(t, site[1], &(ttape_site_values){.enter = &end, .enter_count = 1});
    ttest_emit_trace(out, t);
}
