/* What people come with, one story a word: a crash, a hang, one call in a thousand that is slow, a
 * version that is slower, a button, malloc, files, threads that wait, a rare line, a line of a
 * log. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned sink;
static pthread_mutex_t money = PTHREAD_MUTEX_INITIALIZER, stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

APART static unsigned spin(int rounds)
{
    unsigned sum = 1;
    for (int i = 0; i < rounds; i++)
        sum = sum * 31 + (unsigned)i;
    return sink = sum;
}

/* a crash */
APART static void store_result(int *where) { *where = 1; }

APART static void handle_request(int *where)
{
    (void)spin(100);
    store_result(where);
    sink = 0;
}

static void *crash(void *where)
{
    handle_request(where);
    return NULL;
}

/* a hang */
static void *buys(void *unused)
{
    pthread_mutex_lock(&money);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&stock);
    return unused;
}

static void *sells(void *unused)
{
    pthread_mutex_lock(&stock);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&money);
    return unused;
}

/* one in a thousand, and the same of a slower version */
APART static unsigned look_up(int key, int slow) { return spin(key == 777 ? slow : 300); }

APART static unsigned serve(int key, int slow) { return look_up(key, slow) + spin(100); }

APART static void parse(int cost) { (void)spin(cost); }

APART static void render(void) { (void)spin(2000); }

/* a button */
APART static void load_picture(void) { (void)spin(40000); }

APART static void on_click(void)
{
    load_picture();
    render();
}

APART static void wait_for_event(void) { (void)usleep(20000); }

/* memory */
APART static void *make_node(void) { return malloc(32); }

APART static void *make_name(void) { return malloc(64); }

/* files */
APART static void read_settings(const char *path)
{
    char bytes[64];
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return;
    while (read(fd, bytes, sizeof(bytes)) > 0)
        continue;
    close(fd);
}

APART static void find_plugins(void)
{
    struct stat info;
    for (int i = 0; i < 5; i++)
        sink += stat("/nowhere/plugin", &info) == 0;
}

/* waiting */
static void *worker(void *unused)
{
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&money);
        (void)usleep(10000);
        pthread_mutex_unlock(&money);
    }
    return unused;
}

/* a line that rarely runs */
APART static int classify(int number)
{
    int kind = 0;
    if (number == 500)
        kind = 7; /* rare */
    else
        kind = number % 3;
    return kind;
}

/* a log */
APART static void say(const char *text)
{
    char line[64];
    size_t size = strlen(text);
    memcpy(line, text, size);
    line[size] = '\n';
    sink += write(1, line, size + 1) < 0;
}

APART static void check_row(int row)
{
    if (row % 4 == 3)
        say("row is bad");
    sink++;
}

APART static void import_row(int row)
{
    check_row(row);
    sink++;
}

APART static void export_row(int row)
{
    check_row(row + 3);
    sink++;
}

static void run_pair(void *(*one)(void *), void *(*other)(void *), void *argument)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, argument);
    if (other != NULL)
        pthread_create(&threads[1], NULL, other, argument);
    pthread_join(threads[0], NULL);
    if (other != NULL)
        pthread_join(threads[1], NULL);
}

int main(int count, char **words)
{
    const char *story = count > 1 ? words[1] : "";
    if (strcmp(story, "crash") == 0)
        run_pair(crash, NULL, (void *)8);
    if (strcmp(story, "hang") == 0) {
        pthread_barrier_init(&both, NULL, 2);
        run_pair(buys, sells, NULL);
    }
    for (int i = 0; strcmp(story, "slow") == 0 && i < 1000; i++)
        sink = serve(i, 3000000);
    for (int i = 0; (strcmp(story, "old") == 0 || strcmp(story, "new") == 0) && i < 50; i++) {
        parse(story[0] == 'o' ? 2000 : 6000000);
        render();
    }
    for (int i = 0; strcmp(story, "button") == 0 && i < 3; i++) {
        wait_for_event();
        on_click();
    }
    for (int i = 0; strcmp(story, "memory") == 0 && i < 30; i++) {
        free(make_node());
        if (i % 3 == 0)
            free(make_name());
    }
    if (strcmp(story, "files") == 0) {
        read_settings("settings.conf");
        read_settings("missing.conf");
        find_plugins();
    }
    for (int i = 0; strcmp(story, "server") == 0 && i < 300; i++) {
        (void)poll(NULL, 0, i % 12 == 7 ? 12 : 0); /* for somebody who asks */
        (void)serve(i == 155 ? 777 : i, 3000000);
    }
    if (strcmp(story, "waits") == 0)
        run_pair(worker, worker, NULL);
    for (int i = 0; strcmp(story, "lines") == 0 && i < 1000; i++)
        sink = (unsigned)classify(i);
    for (int i = 0; strcmp(story, "log") == 0 && i < 4; i++) {
        import_row(i);
        export_row(i);
    }
    for (int i = 0; strcmp(story, "long") == 0 && i < 300000; i++)
        parse(i % 8);
    return 0;
}
