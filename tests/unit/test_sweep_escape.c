/* R12: every Unicode character and every pair of bytes through base/escape.c: what
 * comes out is valid UTF-8 without controls (C1 included) and bidi marks, and can be told from
 * everything else. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.c"
#include "tests/asserts.h"

/* Taken apart by code of the test's own; returns the number of characters, -1 when it is not clean.
 */
static int check_clean(const char *text, size_t size_bytes)
{
    int count = 0;
    for (size_t i = 0; i < size_bytes; count++) {
        unsigned char c = (unsigned char)text[i];
        int more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : -1;
        uint32_t code = more == 0 ? c : more == 1 ? c & 31u : more == 2 ? c & 15u : c & 7u;
        if (more < 0 || i + (size_t)more >= size_bytes)
            return -1;
        for (int k = 1; k <= more; k++) {
            if (((unsigned char)text[i + (size_t)k] & 0xc0) != 0x80)
                return -1;
            code = code << 6 | ((unsigned char)text[i + (size_t)k] & 63u);
        }
        bool bidi = code == 0x61c || code == 0x200e || code == 0x200f ||
                    (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
        bool breaks = code == 0x2028 || code == 0x2029 || code == 0xfeff;
        if (code < 0x20 || (code >= 0x7f && code <= 0x9f) || bidi || breaks ||
            (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
            return -1;
        i += (size_t)more + 1;
    }
    return count;
}

static size_t encode(uint32_t code, char *out)
{
    if (code < 0x80)
        return out[0] = (char)code, 1;
    if (code < 0x800)
        return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
    if (code < 0x10000)
        return out[0] = (char)(0xe0 | code >> 12), out[1] = (char)(0x80 | (code >> 6 & 63)),
               out[2] = (char)(0x80 | (code & 63)), 3;
    return out[0] = (char)(0xf0 | code >> 18), out[1] = (char)(0x80 | (code >> 12 & 63)),
           out[2] = (char)(0x80 | (code >> 6 & 63)), out[3] = (char)(0x80 | (code & 63)), 4;
}

/* Bytes out of the TEXT style: \xNN and \\ are the only escapes; QUOTED has \" too. */
static size_t undo_text(const char *text, size_t size_bytes, char *out)
{
    size_t to = 0;
    for (size_t i = 0; i < size_bytes;) {
        char digits[3] = {0};
        if (text[i] != '\\') {
            out[to++] = text[i++];
        } else if (text[i + 1] == '\\' || text[i + 1] == '"') {
            out[to++] = text[i + 1];
            i += 2;
        } else {
            ck_assert(text[i + 1] == 'x' && i + 3 < size_bytes);
            memcpy(digits, text + i + 2, 2);
            out[to++] = (char)strtoul(digits, NULL, 16);
            i += 4;
        }
    }
    return to;
}

static void check_all_styles(const char *bytes, size_t size_bytes)
{
    char out[64], back[64];
    for (int style = TTP_ESCAPE_TERMINAL; style <= TTP_ESCAPE_JSON; style++) {
        size_t size = ttp_escape(out, (enum ttp_escape_style)style, bytes, size_bytes);
        ck_assert(size <= size_bytes * TTP_ESCAPE_MAX);
        ck_assert_msg(check_clean(out, size) >= 0, "style %d of %02x...", style,
                      (unsigned char)bytes[0]);
        if (style == TTP_ESCAPE_TEXT || style == TTP_ESCAPE_QUOTED) {
            size_t same = undo_text(out, size, back);
            ck_assert(same == size_bytes && memcmp(back, bytes, same) == 0);
        }
        if (style == TTP_ESCAPE_JSON || style == TTP_ESCAPE_QUOTED)
            for (size_t i = 0; i < size; i++) {
                ck_assert(out[i] != '"' && (out[i] != '<' || style == TTP_ESCAPE_QUOTED));
                i += out[i] == '\\'; /* what it escapes */
            }
    }
}

START_TEST(r12_every_character)
{
    char bytes[4], out[64];
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        size_t size = encode(code, bytes);
        check_all_styles(bytes, size);
        bool plain = code >= 0xa0 && code < 0x600;
        if (plain) /* letters are left alone */
            ck_assert(ttp_escape(out, TTP_ESCAPE_TERMINAL, bytes, size) == size &&
                      memcmp(out, bytes, size) == 0);
    }
}
END_TEST

START_TEST(r12_all_pairs_of_bytes)
{
    for (uint32_t pair = 0; pair < 65536; pair++) {
        const char bytes[] = {(char)(pair >> 8), (char)pair, 'x'};
        check_all_styles(bytes, 2);
        check_all_styles(bytes, 3);
    }
    for (uint32_t last = 0; last < 256; last++) { /* cut and overlong sequences */
        const char cut[] = {(char)0xe2, (char)0x80, (char)last},
                   wide[] = {(char)0xf4, (char)0x90, (char)last, (char)0x80};
        check_all_styles(cut, 3);
        check_all_styles(wide, 4);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_escape");
    TCase *tests = tcase_create("escape");
    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, r12_every_character);
    tcase_add_test(tests, r12_all_pairs_of_bytes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
