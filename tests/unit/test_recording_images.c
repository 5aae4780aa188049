/* Whose events these are: processes and their parents, modules that come and go, sites with names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arena_player.h"

static struct ttest_player player;
static uint32_t pid, other_pid; /* of processes that live */

static void set_up(void)
{
    ttest_player_open(&player, NULL);
    pid = (uint32_t)ttest_process_start();
    other_pid = (uint32_t)ttest_process_start();
}

static void tear_down(void)
{
    ttest_process_end((pid_t)pid);
    ttest_process_end((pid_t)other_pid);
    ttest_player_close(&player);
}

static struct ttest_block first_block(uint64_t parent, uint32_t parent_pid)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_process_message(&b, parent, parent_pid, "/bin/first");
    return b;
}

static struct ttest_block first_with_library(void)
{
    struct ttest_block b = first_block(0, 1);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so");
    ttest_modules_end(&b, 1);
    ttest_enter(&b, 0x10000);
    return b;
}

static void done(const struct ttest_block *b)
{
    ttest_block_state(b, TTP_BLOCK_DONE);
    ttest_poll(&player);
    ttest_flush(&player);
}

/* One line for each site, in any order: ADDRESS NAME kind line in MODULE of PROCESS */
static char *describe_site(const ttape_reader *reader, uint32_t number)
{
    static char text[512];
    ttape_site site;
    ttape_module module = {.process = TTAPE_NONE};
    ttape_process process = {0};
    ck_assert_int_eq(ttape_reader_get_site(reader, number, &site), TTAPE_OK);
    if (site.module != TTAPE_NONE)
        ck_assert_int_eq(ttape_reader_get_module(reader, site.module, &module), TTAPE_OK);
    if (module.process != TTAPE_NONE)
        ck_assert_int_eq(ttape_reader_get_process(reader, module.process, &process), TTAPE_OK);
    (void)snprintf(text, sizeof text, "%lx %.*s k%u:%u in %.*s of %lu", (unsigned long)site.address,
                   (int)site.symbol.size_bytes, site.symbol.data, site.kind, site.line,
                   (int)module.path.size_bytes, module.path.data, (unsigned long)process.pid);
    return text;
}

static uint32_t site_count(void)
{
    ttape_source source;
    ttape_info info;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    ttape_reader_get_info(reader, &info);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return info.site_count;
}

/* The trace has this site. */
static void expect_site(const char *wanted)
{
    ttape_source source;
    ttape_info info;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    ttape_reader_get_info(reader, &info);
    bool found = false;
    char all[4096] = "";
    for (uint32_t i = 0; i < info.site_count; i++) {
        const char *text = describe_site(reader, i);
        found |= strcmp(text, wanted) == 0;
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", text);
    }
    ck_assert_msg(found, "no '%s' in\n%s", wanted, all);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}

static ttape_process process_of(uint64_t wanted_pid, uint32_t occurrence, uint64_t *parent_pid)
{
    ttape_source source;
    ttape_process process = {0}, parent = {0};
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    bool found = false;
    for (uint32_t i = 0; !found && ttape_reader_get_process(reader, i, &process) == TTAPE_OK; i++)
        found = process.pid == wanted_pid && occurrence-- == 0;
    ck_assert(found);
    if (process.parent != TTAPE_NONE)
        ck_assert_int_eq(ttape_reader_get_process(reader, process.parent, &parent), TTAPE_OK);
    *parent_pid = parent.pid;
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    process.name = (ttape_string){0}; /* it lived in the reader */
    return process;
}

/* The text with the process id behind it. */
static char *with_pid(const char *text, uint32_t number)
{
    static char buffer[256];
    (void)snprintf(buffer, sizeof buffer, "%s%u", text, number);
    return buffer;
}

START_TEST(modules_and_sites)
{
    struct ttest_block b = first_block(0, 1);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(&b, 0x20000, 0x30000, ""); /* the program itself */
    ttest_modules_end(&b, 2);
    ttest_site_message(&b, 0x11000, TTAPE_SITE_MARKER, "mark");
    ttest_enter(&b, 0x10000);
    ttest_enter(&b, 0x2FFFF);
    ttest_enter(&b, 0x30000); /* of none */
    ttest_message(&b, TTP_MESSAGE_LEAF, "\0\x10\1\0\0\0\0\0", 8);
    done(&b);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+10000 +2ffff +30000 !mark", NULL);
    expect_site(with_pid("10000  k0:0 in /lib/a.so of ", pid));
    expect_site(with_pid("2ffff  k0:0 in /bin/first of ", pid));
    expect_site("30000  k0:0 in  of 0");
    expect_site(with_pid("11000 mark k4:77 in /lib/a.so of ", pid));
}
END_TEST

START_TEST(a_forked_child_has_its_parents_modules)
{
    uint64_t parent_pid;
    struct ttest_block b = first_with_library();
    while (b.used < TTP_BLOCK_RECORDS)
        ttest_extension(&b, TTP_EXT_NOTHING, 0);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    struct ttest_block child = ttest_block_take(&player, other_pid, 7, 7, 1);
    ttest_process_message(&child, 1, pid, "/bin/first");
    ttest_extension(&child, TTP_EXT_OPEN, 0);
    ttest_enter(&child, 0x10000);
    ttest_enter(&child, 0x10010);
    /* It opens a library that the parent does not have, where the parent opens another. */
    ttest_module_message(&child, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(&child, 0x40000, 0x50000, "/lib/child.so");
    ttest_modules_end(&child, 2);
    ttest_enter(&child, 0x40000);
    ttest_enter(&child, 0x10020);
    done(&child);
    struct ttest_block more = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_module_message(&more, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(&more, 0x40000, 0x50000, "/lib/parent.so");
    ttest_modules_end(&more, 2);
    ttest_enter(&more, 0x40000);
    done(&more);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+10000 +40000", "o10000 +10010 +40000 +10020", NULL);
    expect_site(with_pid("40000  k0:0 in /lib/child.so of ", other_pid));
    expect_site(with_pid("40000  k0:0 in /lib/parent.so of ", pid));
    expect_site(with_pid("10000  k0:0 in /lib/a.so of ", pid)); /* shared while it can be */
    expect_site(with_pid("10020  k0:0 in /lib/a.so of ", pid)); /* the module goes on */
    (void)process_of(other_pid, 0, &parent_pid);
    ck_assert_uint_eq(parent_pid, pid);
}
END_TEST

/* A child, or its parent, loads a library within calls that both had entered while they shared what
 * is mapped: these calls end as what they began as, recorded as they come, filtered, or held back
 * until they end. */
START_TEST(a_library_that_comes_within_calls)
{
    static const ttape_site_rules rules[] = {{0}, {.max_depth = 9}, {.cull_hot = true}};
    ttest_player_discard(&player);
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rules = rules[_i % 3]};
    ttest_player_open(&player, &options);
    struct ttest_block b = first_with_library();
    struct ttest_block child = ttest_block_take(&player, other_pid, 7, 7, 1);
    struct ttest_block *loads = _i < 3 ? &child : &b, *other = _i < 3 ? &b : &child;
    ttest_process_message(&child, 1, pid, "/bin/first");
    for (uint64_t address = 0x10010; address < 0x10040; address += 0x10) {
        ttest_enter(&b, address);
        ttest_enter(&child, address);
    }
    ttest_enter(&child, 0x30000); /* of no module, without a name */
    ttest_module_message(loads, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(loads, 0x40000, 0x50000, "/lib/more.so");
    ttest_modules_end(loads, 2);
    ttest_enter(loads, 0x40000);
    ttest_exit(loads, 0x40000);
    ttest_exit(&child, 0x30000);
    for (uint64_t address = 0x10030; address >= 0x10010; address -= 0x10) {
        ttest_exit(&b, address);
        ttest_exit(&child, address);
    }
    ttest_exit(&b, 0x10000);
    ttest_enter(other, 0x10020); /* what they shared goes on to be one function */
    ttest_exit(other, 0x10020);
    ttest_block_state(&child, TTP_BLOCK_DONE);
    done(&b);
    (void)ttest_finish(&player);
    ttest_expect(&player,
                 _i < 3 ? "+10000 +10010 +10020 +10030 -10030 -10020 -10010 -10000 +10020 -10020"
                        : "+10000 +10010 +10020 +10030 +40000 -40000 -10030 -10020 -10010 -10000",
                 _i < 3 ? "+10010 +10020 +10030 +30000 +40000 -40000 -30000 -10030 -10020 -10010"
                        : "+10010 +10020 +10030 +30000 -30000 -10030 -10020 -10010 +10020 -10020",
                 NULL);
    expect_site(with_pid("40000  k0:0 in /lib/more.so of ", _i < 3 ? other_pid : pid));
    ck_assert_uint_eq(site_count(), 7); /* one of them of ends */
}
END_TEST

/* Its first thread has told the time, but not yet whose child it is, when all is wanted; then
 * another one of its threads ends before all is wanted again. */
START_TEST(a_forked_child_is_met_while_it_begins)
{
    uint64_t parent_pid;
    (void)first_with_library();
    struct ttest_block child = ttest_block_take(&player, other_pid, 7, 7, 1);
    ttest_put(&child, ttp_record_epoch(1));
    player.head->flush_requests++;
    ttest_poll_ms(&player, _i == 0 ? 0 : TTEST_HOLE_MS); /* not waited for any longer */
    ttest_poll(&player);
    ttest_process_message(&child, 1, pid, "/bin/first");
    struct ttest_block second = ttest_block_take(&player, other_pid, 7, 8, 1);
    ttest_enter(&second, 0x10010);
    ttest_block_state(&second, TTP_BLOCK_DONE);
    ttest_poll_ms(&player, 50);
    ttest_enter(&child, 0x10020);
    done(&child);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+10000", "+10010", "+10020", NULL);
    expect_site(with_pid("10010  k0:0 in /lib/a.so of ", pid));
    expect_site(with_pid("10020  k0:0 in /lib/a.so of ", pid));
    (void)process_of(other_pid, 0, &parent_pid);
    ck_assert_uint_eq(parent_pid, pid);
}
END_TEST

START_TEST(an_executed_program_begins_anew)
{
    uint64_t parent_pid;
    struct ttest_block b = first_with_library();
    done(&b);
    struct ttest_block new = ttest_block_take(&player, pid, 9, 9, 1);
    ttest_process_message(&new, 0, 1, "/bin/second");
    ttest_module_message(&new, 0x10000, 0x20000, "/lib/b.so");
    ttest_modules_end(&new, 1);
    ttest_enter(&new, 0x10000);
    done(&new);
    struct ttest_block spawned = ttest_block_take(&player, other_pid, 11, 11, 1);
    ttest_process_message(&spawned, 0, pid, "/bin/third");
    ttest_enter(&spawned, 0x10000);
    done(&spawned);
    ck_assert_uint_eq(ttest_finish(&player).process_count, 3);
    ttest_expect(&player, "+10000", "+10000", "+10000", NULL);
    expect_site(with_pid("10000  k0:0 in /lib/a.so of ", pid));
    expect_site(with_pid("10000  k0:0 in /lib/b.so of ", pid));
    expect_site("10000  k0:0 in  of 0");
    (void)process_of(pid, 0, &parent_pid);
    ck_assert_uint_eq(parent_pid, 0);
    (void)process_of(pid, 1, &parent_pid);
    ck_assert_uint_eq(parent_pid, pid);
    (void)process_of(other_pid, 0, &parent_pid);
    ck_assert_uint_eq(parent_pid, pid);
}
END_TEST

START_TEST(another_module_at_the_same_address)
{
    struct ttest_block b = first_with_library();
    ttest_exit(&b, 0x10000);
    ttest_modules_end(&b, 0); /* closed */
    ttest_enter(&b, 0x10000); /* of nothing */
    ttest_exit(&b, 0x10000);
    ttest_flush(&player); /* a later list in the same piece would be found */
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/b.so");
    ttest_modules_end(&b, 1);
    ttest_enter(&b, 0x10000);
    ttest_exit(&b, 0x10000);
    ttest_modules_end(&b, 0);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so"); /* the first one again */
    ttest_modules_end(&b, 1);
    ttest_enter(&b, 0x10004);
    ttest_exit(&b, 0x10004);
    done(&b);
    (void)ttest_finish(&player);
    expect_site(with_pid("10000  k0:0 in /lib/a.so of ", pid));
    expect_site("10000  k0:0 in  of 0");
    expect_site(with_pid("10000  k0:0 in /lib/b.so of ", pid));
    expect_site(with_pid("10004  k0:0 in /lib/a.so of ", pid));
}
END_TEST

/* In a piece of its own: from a thread's second one on, the recorder remembers what it found. */
static void call(struct ttest_block *b)
{
    ttest_enter(b, 0x10000);
    ttest_exit(b, 0x10000);
    ttest_flush(&player);
}

/* What is remembered of an address is its process's, and holds until that says something else. */
START_TEST(an_address_means_another_site)
{
    struct ttest_block b = first_block(0, 1);
    call(&b);
    call(&b);
    ttest_site_message(&b, 0x10000, TTAPE_SITE_FUNCTION, "one");
    call(&b);
    struct ttest_block other = ttest_block_take(&player, other_pid, 11, 11, 1);
    ttest_process_message(&other, 0, 1, "/bin/other");
    ttest_site_message(&other, 0x10000, TTAPE_SITE_FUNCTION, "other");
    call(&other);
    call(&other);
    call(&b);
    done(&other);
    done(&b);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+10000 -10000 +10000 -10000 +one -one +one -one",
                 "+other -other +other -other", NULL);
}
END_TEST

/* A list whose end is missing: nothing was recorded for a while, or its block is lost. */
START_TEST(a_list_that_was_cut_off)
{
    struct ttest_block b = first_block(0, 1);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(&b, 0x20000, 0x30000, "/lib/gone.so");
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so"); /* the next list */
    ttest_modules_end(&b, 1);
    ttest_enter(&b, 0x10000);
    ttest_enter(&b, 0x20000);
    ttest_module_message(&b, 0x30000, 0x40000, "/lib/gone too.so"); /* the last of one */
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(&b, 0x40000, 0x50000, "/lib/b.so");
    ttest_modules_end(&b, 2);
    ttest_enter(&b, 0x10001);
    ttest_enter(&b, 0x30000);
    ttest_enter(&b, 0x40000);
    done(&b);
    (void)ttest_finish(&player);
    expect_site(with_pid("10000  k0:0 in /lib/a.so of ", pid));
    expect_site("20000  k0:0 in  of 0");
    expect_site(with_pid("10001  k0:0 in /lib/a.so of ", pid));
    expect_site("30000  k0:0 in  of 0");
    expect_site(with_pid("40000  k0:0 in /lib/b.so of ", pid));
}
END_TEST

/* Who knows what is in the rest: what is known stays, what is told comes. */
START_TEST(a_list_of_which_some_is_missing)
{
    struct ttest_block b = first_block(0, 1);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so");
    ttest_module_message(&b, 0x20000, 0x30000, "/lib/b.so");
    ttest_modules_end(&b, 2);
    ttest_module_message(&b, 0x30000, 0x40000, "/lib/c.so");
    ttest_modules_end(&b, 3);
    ttest_enter(&b, 0x10000);
    ttest_enter(&b, 0x20000);
    ttest_enter(&b, 0x30000);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so"); /* the end of this one is missing */
    ttest_module_message(&b, 0x20000, 0x30000, "/lib/b.so");
    ttest_module_message(&b, 0x20000, 0x30000, "/lib/b.so"); /* and of this one the beginning */
    ttest_module_message(&b, 0x40000, 0x50000, "/lib/d.so");
    ttest_modules_end(&b, 3);
    ttest_message(&b, TTP_MESSAGE_MODULES_END, "", 0); /* says nothing */
    ttest_enter(&b, 0x10001);
    ttest_enter(&b, 0x30001);
    ttest_enter(&b, 0x40001);
    ttest_module_message(&b, 0x10000, 0x20000, "/lib/a.so");
    ttest_modules_end(&b, 1);
    ttest_enter(&b, 0x10002);
    ttest_enter(&b, 0x20002);
    ttest_enter(&b, 0x40002);
    done(&b);
    (void)ttest_finish(&player);
    expect_site(with_pid("10000  k0:0 in /lib/a.so of ", pid));
    expect_site(with_pid("20000  k0:0 in /lib/b.so of ", pid));
    expect_site(with_pid("30000  k0:0 in /lib/c.so of ", pid));
    expect_site(with_pid("10001  k0:0 in /lib/a.so of ", pid));
    expect_site(with_pid("30001  k0:0 in /lib/c.so of ", pid));
    expect_site(with_pid("40001  k0:0 in /lib/d.so of ", pid));
    expect_site(with_pid("10002  k0:0 in /lib/a.so of ", pid));
    expect_site("20002  k0:0 in  of 0");
    expect_site("40002  k0:0 in  of 0");
}
END_TEST

/* Memory and time of the recorder are bounded: what is told behind so many is left out. */
START_TEST(a_list_without_end)
{
    const uint64_t count = 8192 + 200, first = 0x100000, bytes = 0x1000;
    uint32_t sequence = 1;
    struct ttest_block b = first_block(0, 1);
    for (uint64_t i = 0; i < count; i++) {
        if (i % 400 == 399) {
            done(&b);
            b = ttest_block_take(&player, pid, 1, 1, ++sequence);
        }
        ttest_module_message(&b, first + i * bytes, first + (i + 1) * bytes, "/lib/m.so");
    }
    ttest_modules_end(&b, (uint32_t)count);
    ttest_enter(&b, first + 1);
    ttest_enter(&b, first + (count - 201) * bytes);
    ttest_enter(&b, first + (count - 200) * bytes);
    done(&b);
    (void)ttest_finish(&player);
    expect_site(with_pid("100001  k0:0 in /lib/m.so of ", pid));
    expect_site(with_pid("20ff000  k0:0 in /lib/m.so of ", pid));
    expect_site("2100000  k0:0 in  of 0");
}
END_TEST

/* The kernel's list says what the program did not: a library that it opened just now. */
START_TEST(unknown_addresses_are_looked_up)
{
    uint64_t address = (uint64_t)(uintptr_t)&set_up;
    uint32_t self = (uint32_t)getpid();
    struct ttest_block b = ttest_block_take(&player, self, 1, 1, 1);
    ttest_process_message(&b, 0, 1, "/bin/first");
    ttest_enter(&b, address);
    ttest_enter(&b, 0x666); /* not there either */
    done(&b);
    (void)ttest_finish(&player);
    ttape_source source;
    ttape_site site;
    ttape_module module;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    ck_assert_int_eq(ttape_reader_get_site(reader, 0, &site), TTAPE_OK);
    ck_assert_uint_eq(site.address, address);
    ck_assert_int_eq(ttape_reader_get_module(reader, site.module, &module), TTAPE_OK);
    ck_assert_uint_gt(module.path.size_bytes, 0);
    ck_assert(address >= module.start && address < module.end);
    ck_assert_int_eq(ttape_reader_get_site(reader, 1, &site), TTAPE_OK);
    ck_assert_uint_eq(site.module, TTAPE_NONE);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

START_TEST(definitions_that_lie)
{
    uint8_t bytes[64];
    struct ttest_block b = first_block(0, 1);
    ttest_module_message(&b, 0x20000, 0x10000, "/lib/backward.so");
    ttest_module_message(&b, UINT64_MAX - 5, 3, "/lib/around.so");
    ttest_module_message(&b, 0x50000, 0x50000, "/lib/empty.so");
    ttest_module_message(&b, 0x60000, 0x70000, "/lib/good.so");
    memset(bytes, 0xFF, sizeof bytes);
    ttest_message(&b, TTP_MESSAGE_MODULE, bytes, 30); /* a build id longer than all */
    ttest_modules_end(&b, 0xFFFFFFFF);
    ttest_message(&b, TTP_MESSAGE_SITE, bytes, 64); /* a name longer than all */
    ttest_site_message(&b, 0x60000, 0xFFFFFFFF, "odd");
    ttest_site_message(&b, 0x60000, TTAPE_SITE_BLOCK, "again");
    ttest_site_message(&b, 0, TTAPE_SITE_MARKER, "nowhere");
    ttest_site_message(&b, 0x60080, 0xFFFFFFFF, "unheard of");
    ttest_enter(&b, 0x60080);
    ttest_enter(&b, 0x60000);
    ttest_enter(&b, 0x15000);
    ttest_process_message(&b, 1, pid, "/bin/once more");
    ttest_enter(&b, 0x60001);
    done(&b);
    ck_assert_uint_eq(ttest_finish(&player).process_count, 1);
    ttest_expect(&player, "+unheard of +again +15000 +60001", NULL);
    expect_site(with_pid("60000 again k1:77 in /lib/good.so of ", pid));
    expect_site(with_pid("60001  k0:0 in /lib/good.so of ", pid));
    expect_site("15000  k0:0 in  of 0");
}
END_TEST

/* A process that is its own parent, one whose parent comes later, one without an image. */
START_TEST(families_that_cannot_be)
{
    uint64_t parent_pid;
    struct ttest_block b = first_block(1, pid);
    ttest_enter(&b, 0x1000);
    struct ttest_block early = ttest_block_take(&player, other_pid, 5, 5, 1);
    ttest_process_message(&early, 77, pid, "/bin/early");
    ttest_enter(&early, 0x2000);
    struct ttest_block none = ttest_block_take(&player, other_pid, 0, 8, 1);
    ttest_enter(&none, 0x3000);
    done(&b);
    done(&early);
    done(&none);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+1000", "+2000", "+3000", NULL);
    (void)process_of(pid, 0, &parent_pid);
    (void)process_of(other_pid, 0, &parent_pid);
}
END_TEST

/* Two that are each other's parents: only the one that was told of first is. Otherwise their line
 * has no end. */
START_TEST(each_others_parents)
{
    uint64_t parent_pid;
    struct ttest_block a = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_extension(&a, TTP_EXT_NOTHING, 0);
    ttest_flush(&player);
    struct ttest_block b = ttest_block_take(&player, other_pid, 2, 2, 1);
    ttest_process_message(&b, 1, pid, "/bin/second");
    ttest_flush(&player);
    ttest_process_message(&a, 2, other_pid, "/bin/first");
    ttest_enter(&a, 0x1000);
    ttest_enter(&b, 0x2000);
    done(&a);
    done(&b);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+1000", "+2000", NULL);
    (void)process_of(pid, 0, &parent_pid);
    ck_assert_uint_eq(parent_pid, other_pid);
}
END_TEST

START_TEST(separate_files_of_a_fork)
{
    ttest_player_discard(&player);
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .separate_files = true};
    ttest_player_open(&player, &options);
    struct ttest_block b = first_with_library();
    done(&b);
    struct ttest_block child = ttest_block_take(&player, other_pid, 7, 7, 1);
    ttest_process_message(&child, 1, pid, "/bin/first");
    ttest_enter(&child, 0x10010);
    done(&child);
    ck_assert_uint_eq(ttest_finish(&player).file_count, 2);
    ttest_expect_file(&player, ttape_recording_file(player.recording, 0), "+10000");
    ttest_expect_file(&player, ttape_recording_file(player.recording, 1), "+10010");
    (void)snprintf(player.output, sizeof player.output, "%s",
                   ttape_recording_file(player.recording, 1));
    expect_site(with_pid("10010  k0:0 in /lib/a.so of ", other_pid));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording images");
    TCase *tests = tcase_create("images");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, modules_and_sites);
    tcase_add_test(tests, a_forked_child_has_its_parents_modules);
    tcase_add_loop_test(tests, a_library_that_comes_within_calls, 0, 6);
    tcase_add_loop_test(tests, a_forked_child_is_met_while_it_begins, 0, 2);
    tcase_add_test(tests, an_executed_program_begins_anew);
    tcase_add_test(tests, another_module_at_the_same_address);
    tcase_add_test(tests, an_address_means_another_site);
    tcase_add_test(tests, a_list_that_was_cut_off);
    tcase_add_test(tests, a_list_of_which_some_is_missing);
    tcase_add_test(tests, a_list_without_end);
    tcase_add_test(tests, unknown_addresses_are_looked_up);
    tcase_add_test(tests, definitions_that_lie);
    tcase_add_test(tests, families_that_cannot_be);
    tcase_add_test(tests, each_others_parents);
    tcase_add_test(tests, separate_files_of_a_fork);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
