/* Values by name and type. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/io/dump_values.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_words.h"
#include "tools/values/call_site.h"
#include "tools/values/parameter_names.h"
#include "tools/values/value_parts.h"
#include "tools/values/value_words.h"

#define VALUES_BYTES_MOST 200u /* of a call's values, in a line */

/* ---- names ---- */

/* Other tools' recordings say of values what they are, not what they are called. */
static bool has_names(const struct tool_value_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (names->names[i].name.size_bytes > 0)
            return true;
    return false;
}

#define BRANCH_WORDS 5u /* of counters; of other operations one, and the number of blocks */

/* The two things that a call's end has where blocks were taken in. */
static bool has_branches(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (entry.key.size_bytes == strlen("branch_operation") &&
            memcmp(entry.key.data, "branch_operation", entry.key.size_bytes) == 0)
            return true;
    return false;
}

static void name_branch(struct tool_value_names *found, const ttape_reader *reader,
                        const ttape_site *site, uint32_t value_count)
{
    if (site->kind != TTAPE_SITE_FUNCTION || (value_count != 2 && value_count != BRANCH_WORDS) ||
        found->names != NULL || !has_branches(reader))
        return;
    found->is_branch = true;
    found->words = value_count == 2 ? "branch blocks" : "branch branch branch branch blocks";
}

static struct tool_value_names find_names(const ttape_reader *reader, uint32_t site, bool is_exit,
                                          uint32_t value_count, bool has_own)
{
    struct tool_value_names found = {
        .words = "", .reader = reader, .site = site, .call_site = TTAPE_NONE};
    ttape_site_values values;
    ttape_site what;
    if (value_count == 0)
        return found;
    if (has_own && ttape_reader_get_site_values(reader, site, &values) == TTAPE_OK) {
        found.names = is_exit ? values.exit : values.enter;
        found.count = is_exit ? values.exit_count : values.enter_count;
        if (has_names(&found))
            return found;
    }
    if (ttape_reader_get_site(reader, site, &what) != TTAPE_OK)
        return found;
    if (is_exit)
        name_branch(&found, reader, &what, value_count);
    const char *words = is_exit ? NULL : tool_library_parameters(reader, &what, value_count);
    found.words = words != NULL ? words : found.words;
    return found;
}

struct tool_value_names tool_find_value_names(const ttape_reader *reader, uint32_t site,
                                              bool is_exit, uint32_t value_count)
{
    return find_names(reader, site, is_exit, value_count, true);
}

static bool is_word(ttape_string text, const char *word)
{
    return text.size_bytes == strlen(word) && memcmp(text.data, word, text.size_bytes) == 0;
}

/* Behind what a library's function is given is where it was called: no parameter. What the file
 * says of the function is then of other values. */
struct tool_value_names tool_names_of_values(const ttape_reader *reader, uint32_t site,
                                             bool is_exit, const ttape_value *values,
                                             uint32_t count)
{
    struct tool_value_names names = tool_find_value_names(reader, site, is_exit, count);
    uint32_t from = is_exit ? count : ttape_call_site_index(reader, site, values, count);
    bool is_own =
        names.names != NULL && from < names.count && is_word(names.names[from].name, "from");
    if (from + 1 == count && !is_own)
        names = find_names(reader, site, is_exit, count - 1, false);
    names.call_site = from < count ? from : TTAPE_NONE;
    return names;
}

ttape_string tool_next_value_name(struct tool_value_names *names, uint32_t index)
{
    if (index == names->call_site)
        return (ttape_string){"from", strlen("from")};
    if (names->names != NULL && *names->words == '\0')
        return index < names->count ? names->names[index].name : (ttape_string){"", 0};
    return tool_next_parameter(&names->words);
}

const ttape_value_name *tool_value_type(const struct tool_value_names *names, uint32_t index)
{
    return names->names != NULL && index < names->count ? &names->names[index] : NULL;
}

/* ---- values ---- */

/* The type without what does not change how it is read. */
static ttape_string plain_type(ttape_string type)
{
    static const char *const in_front[] = {"const ", "volatile ", "signed ", "unsigned "};
    for (size_t i = 0; i < sizeof(in_front) / sizeof(*in_front); i++) {
        size_t size = strlen(in_front[i]);
        if (type.size_bytes > size && memcmp(type.data, in_front[i], size) == 0) {
            type.data += size;
            type.size_bytes -= size;
        }
    }
    return type;
}

static const ttape_value_constant *find_constant(const ttape_value_name *name, int64_t value)
{
    for (uint32_t i = 0; i < name->constant_count; i++)
        if (name->constants[i].value == value && name->constants[i].name.size_bytes > 0)
            return &name->constants[i];
    return NULL;
}

static void put_text(struct tool_output *out, ttape_string text)
{
    tool_output_escaped(out, TTP_ESCAPE_TEXT, text);
}

/* "RED|BLUE": a sum of constants that are one bit each; false: it is none. */
static bool put_flags(struct tool_output *out, const ttape_value_name *name, uint64_t value)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < name->constant_count; i++) {
        uint64_t bit = (uint64_t)name->constants[i].value;
        if (bit != 0 && (bit & (bit - 1)) == 0 && name->constants[i].name.size_bytes > 0)
            bits |= bit;
    }
    if (value == 0 || (value & ~bits) != 0)
        return false;
    for (uint64_t left = value; left != 0; left &= left - 1) {
        tool_output_text(out, left == value ? "" : "|");
        put_text(out, find_constant(name, (int64_t)(left & (0 - left)))->name);
    }
    return true;
}

bool tool_put_enumeration(struct tool_output *out, const ttape_value *value,
                          const ttape_value_name *name)
{
    const ttape_value_constant *constant = find_constant(name, (int64_t)value->number);
    if (value->type == TTAPE_VALUE_UNSIGNED && value->number > INT64_MAX)
        constant = NULL;
    if (constant == NULL)
        return put_flags(out, name, value->number);
    put_text(out, constant->name);
    return true;
}

/* "97 'a'" */
static void put_character(struct tool_output *out, const ttape_value *value)
{
    char byte = (char)value->number;
    tool_dump_value(out, value);
    if ((value->type == TTAPE_VALUE_SIGNED && (int64_t)value->number < 0) || value->number > 127)
        return;
    tool_output_text(out, byte == '\'' ? " '\\" : " '");
    tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){&byte, 1});
    tool_output_text(out, "'");
}

bool tool_put_kernel_words(struct tool_output *out, const ttape_value *value, char letter)
{
    if (value->type != TTAPE_VALUE_UNSIGNED && value->type != TTAPE_VALUE_SIGNED)
        return false;
    tool_kernel_put_number(out, letter, value->number);
    return true;
}

bool tool_put_target(struct tool_output *out, const struct tool_value_names *names,
                     const ttape_value *value)
{
    ttape_site target;
    if (value->type != TTAPE_VALUE_POINTER ||
        ttape_reader_get_site(names->reader,
                              ttape_reader_find_target(names->reader, names->site, value->number),
                              &target) != TTAPE_OK)
        return false;
    if (target.kind == TTAPE_SITE_CALL)
        tool_put_call_site(out, names->reader,
                           ttape_reader_find_target(names->reader, names->site, value->number));
    else
        put_text(out, target.symbol);
    return true;
}

/* A value without its name, as its type is read. name may be NULL. */
static void put_value(struct tool_output *out, const ttape_value *value,
                      const ttape_value_name *name)
{
    bool is_integer = value->type == TTAPE_VALUE_UNSIGNED || value->type == TTAPE_VALUE_SIGNED;
    if (name == NULL || !is_integer) {
        tool_dump_value(out, value);
        return;
    }
    ttape_string type = plain_type(name->type);
    if (name->constant_count > 0 && tool_put_enumeration(out, value, name))
        return;
    bool is_bool = is_word(type, "bool") || is_word(type, "_Bool");
    if (is_bool && value->number <= 1)
        tool_output_text(out, value->number == 1 ? "true" : "false");
    else if (is_word(type, "char"))
        put_character(out, value);
    else if (type.size_bytes > 0 && type.data[type.size_bytes - 1] == '*')
        tool_dump_value(out, &(ttape_value){.type = TTAPE_VALUE_POINTER, .number = value->number});
    else
        tool_dump_value(out, value);
}

/* ---- fields (F-VNM-11) ---- */

/* What stands in a field's name behind that of value `base` and a dot; no bytes: it is no field of
 * that one. */
static ttape_string field_name(const struct tool_value_names *names, uint32_t base, uint32_t field)
{
    ttape_string none = {"", 0};
    if (names->names == NULL || field >= names->count || base >= names->count)
        return none;
    ttape_string outer = names->names[base].name, name = names->names[field].name;
    size_t size = outer.size_bytes;
    if (name.size_bytes <= size + 1 || name.data[size] != '.' ||
        memcmp(name.data, outer.data, size) != 0)
        return none;
    return (ttape_string){name.data + size + 1, name.size_bytes - size - 1};
}

/* So many of `count` values have a name of the file's: 255 at most, whereas values may be many. */
static uint32_t count_named(const struct tool_value_names *names, uint32_t count)
{
    uint32_t named = names->names != NULL ? names->count : 0;
    return count < named ? count : named;
}

/* It is shown with the value before it that it is in. */
static bool is_field(const struct tool_value_names *names, uint32_t index)
{
    for (uint32_t base = 0; base < index && index < count_named(names, UINT32_MAX); base++)
        if (field_name(names, base, index).size_bytes > 0)
            return true;
    return false;
}

static bool is_absent(const ttape_value *value)
{
    return value->type == TTAPE_VALUE_BYTES && value->bytes.size_bytes == 0;
}

/* A structure is all said by its fields; what points to one says where it is, too. */
static bool is_structure(const ttape_value *value, const ttape_value_name *name)
{
    ttape_string type = name != NULL ? name->type : (ttape_string){"", 0};
    char last = type.size_bytes > 0 ? type.data[type.size_bytes - 1] : '*';
    return value->type == TTAPE_VALUE_BYTES || (last != '*' && last != '&');
}

struct valued {
    const ttape_value *values;
    uint32_t count;
};

static void put_one(struct tool_output *out, const struct tool_value_names *names,
                    const struct valued *all, uint32_t index)
{
    if (!tool_put_target(out, names, &all->values[index]))
        put_value(out, &all->values[index], tool_value_type(names, index));
}

/* "0x7ffe10{x=1, y=2}" */
static void put_with_fields(struct tool_output *out, const struct tool_value_names *names,
                            const struct valued *all, uint32_t index)
{
    const ttape_value_name *type = tool_value_type(names, index);
    const char *between = "{";
    uint32_t first = index + 1, end = count_named(names, all->count);
    while (first < end &&
           (field_name(names, index, first).size_bytes == 0 || is_absent(&all->values[first])))
        first++;
    if (first >= end || !is_structure(&all->values[index], type))
        put_one(out, names, all, index);
    for (uint32_t i = first; i < end; i++) {
        ttape_string name = field_name(names, index, i);
        if (name.size_bytes == 0 || is_absent(&all->values[i]))
            continue;
        tool_output_text(out, between);
        put_text(out, name);
        tool_output_text(out, "=");
        put_one(out, names, all, i);
        between = ", ";
    }
    tool_output_text(out, first < end ? "}" : "");
}

static void put_named(struct tool_output *out, struct tool_value_names *names,
                      const struct valued *all, uint32_t index, bool shows_name)
{
    char letter = tool_parameter_letter(names->words);
    ttape_string name = tool_next_value_name(names, index);
    if (shows_name && name.size_bytes > 0) {
        put_text(out, name);
        tool_output_text(out, index == names->call_site ? " " : "=");
    }
    if (letter == '\0' || !tool_put_kernel_words(out, &all->values[index], letter))
        put_with_fields(out, names, all, index);
}

/* False: the site is no system call, or nothing was recorded of it. */
static bool find_call(const ttape_reader *reader, uint32_t number, uint32_t count,
                      struct tool_call_values *call)
{
    ttape_site site;
    if (count == 0 || ttape_reader_get_site(reader, number, &site) != TTAPE_OK ||
        site.kind != TTAPE_SITE_SYSCALL)
        return false;
    *call = (struct tool_call_values){.number = tool_kernel_number_of(&site)};
    return true;
}

void tool_put_arguments(struct tool_output *out, const ttape_reader *reader, uint32_t site,
                        const ttape_value *values, uint32_t count)
{
    struct tool_value_names names = tool_names_of_values(reader, site, false, values, count);
    struct tool_call_values call;
    if (find_call(reader, site, count, &call)) {
        call.arguments = values;
        call.argument_count = count;
        tool_kernel_put_arguments(out, &call);
        return;
    }
    const char *between = "(";
    for (uint32_t i = 0; i < count; i++) {
        if (is_field(&names, i))
            continue;
        tool_output_text(out, between);
        put_named(out, &names, &(struct valued){values, count}, i, true);
        between = ", ";
    }
    tool_output_text(out, count == 0 ? "()" : ")");
}

/* As ttape_branch_text writes it, and `context --branches-of` takes it. */
static void put_branch(struct tool_output *out, const ttape_value *values, uint32_t count)
{
    tool_output_text(out, " [branch ");
    for (uint32_t i = 0; i + 1 < count; i++)
        for (unsigned byte = 0; byte < 8; byte++) {
            unsigned shift = 8 * (count == BRANCH_WORDS ? byte : 7 - byte);
            tool_output_printf(out, "%02x", (unsigned)(values[i].number >> shift & 0xff));
        }
    tool_output_printf(out, "/%" PRIu64 "]", values[count - 1].number);
}

void tool_put_results(struct tool_output *out, const ttape_reader *reader, uint32_t site,
                      const ttape_value *values, uint32_t count)
{
    struct tool_value_names names = tool_find_value_names(reader, site, true, count);
    struct tool_call_values call;
    if (find_call(reader, site, count, &call)) {
        call.results = values;
        call.result_count = count;
        tool_kernel_put_result(out, &call);
        return;
    }
    if (names.is_branch) {
        put_branch(out, values, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_field(&names, i))
            continue;
        tool_output_text(out, i > 0 ? ", " : " = ");
        put_named(out, &names, &(struct valued){values, count}, i, i > 0);
    }
}

/* ---- both ---- */

static void put_cut(struct tool_output *out, const struct tool_output *text, size_t most,
                    const char *end)
{
    size_t size = ttp_text_cut(text->data, text->size_bytes, most);
    tool_output_bytes(out, text->data, size);
    tool_output_text(out, size < text->size_bytes ? end : "");
}

void tool_put_cut_values(struct tool_output *out, const struct tool_output *given,
                         const struct tool_output *returned)
{
    size_t half = VALUES_BYTES_MOST / 2;
    size_t kept = returned->size_bytes < half ? returned->size_bytes : half;
    put_cut(out, given, VALUES_BYTES_MOST - kept, "...)");
    put_cut(out, returned, kept, "...");
}
