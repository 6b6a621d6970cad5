/* SPDX-License-Identifier: BSD-2-Clause */
/* A program written from rsslag.h alone, for library_test.py. It prints a reading as a line of "key value" pairs, and an error
 * as a line "error STATUS what|remedy" with status 1. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rsslag.h>

static struct rsslag_handle *handle;

static int told(const struct rsslag_error *error)
{
    printf("error %d %s|%s\n", error->status, error->what, error->remedy);
    return 1;
}

static void show_members(const char *name, const struct rsslag_members *of)
{
    printf(" %s.file %lld %s.anon %lld %s.shmem %lld %s.swap %lld", name, (long long)of->file, name, (long long)of->anon, name,
           (long long)of->shmem, name, (long long)of->swap);
}

static void show(const struct rsslag_reading *reading)
{
    printf("pid %d way %s scheme %s known %u marks %u page_size %lld rss %lld cached_rss %lld lag %lld bound_rss %lld threads %lld",
           reading->pid, rsslag_way_name(reading->way), rsslag_scheme_name(reading->scheme), reading->known, reading->marks,
           (long long)reading->page_size, (long long)reading->rss, (long long)reading->cached_rss, (long long)reading->lag,
           (long long)reading->bound_rss, (long long)reading->threads);
    show_members("exact", &reading->exact);
    show_members("flushed", &reading->flushed);
    show_members("cached", &reading->cached);
    printf(" comm %s\n", reading->comm);
}

static int exact(int pid)
{
    struct rsslag_reading reading = RSSLAG_READING_INIT;
    struct rsslag_error error = RSSLAG_ERROR_INIT;

    if ((pid ? rsslag_exact(handle, pid, &reading, &error) : rsslag_exact_self(handle, &reading, &error)) != RSSLAG_OK)
        return told(&error);
    show(&reading);
    return 0;
}

static int all(void)
{
    struct rsslag_reading reading = RSSLAG_READING_INIT;
    struct rsslag_error error = RSSLAG_ERROR_INIT;
    struct rsslag_list *list;
    size_t i;

    if (rsslag_all(handle, &list, &error) != RSSLAG_OK)
        return told(&error);
    printf("count %zu unreadable %zu\n", rsslag_list_count(list), rsslag_list_unreadable(list));
    for (i = 0; rsslag_list_get(list, i, &reading, &error) == RSSLAG_OK; ++i)
        show(&reading);
    rsslag_list_free(list);
    return error.status != RSSLAG_ERROR_ARGUMENT;
}

/* All threads read this process. */
static int target;

static void *many(void *result)
{
    struct rsslag_reading reading = RSSLAG_READING_INIT;
    struct rsslag_list *list;
    long long *rss = result;
    int i;

    for (i = 0; i < 100; ++i) {
        if (rsslag_exact(handle, target, &reading, NULL) != RSSLAG_OK || (*rss && *rss != reading.rss))
            reading.rss = -1;
        *rss = reading.rss;
        if (i % 20 == 0 && rsslag_all(handle, &list, NULL) == RSSLAG_OK)
            rsslag_list_free(list);
        if (*rss < 0 || rsslag_exact_self(handle, &reading, NULL) != RSSLAG_OK)
            break;
    }
    return NULL;
}

static int threads(int pid)
{
    pthread_t thread[8];
    long long rss[8] = {0};
    int i;

    target = pid;
    for (i = 0; i < 8; ++i)
        pthread_create(&thread[i], NULL, many, &rss[i]);
    for (i = 0; i < 8; ++i) {
        pthread_join(thread[i], NULL);
        printf("%lld\n", rss[i]);
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

#define TIMES 1001

/* The median duration of a call in microseconds: wall time, and CPU time of this thread. */
static int times(int pid)
{
    static double wall[TIMES], cpu[TIMES];
    struct rsslag_reading reading = RSSLAG_READING_INIT;
    int i;

    for (i = 0; i < TIMES; ++i) {
        wall[i] = -now_us(CLOCK_MONOTONIC);
        cpu[i] = -now_us(CLOCK_THREAD_CPUTIME_ID);
        if (rsslag_exact(handle, pid, &reading, NULL) != RSSLAG_OK)
            return 1;
        cpu[i] += now_us(CLOCK_THREAD_CPUTIME_ID);
        wall[i] += now_us(CLOCK_MONOTONIC);
    }
    qsort(wall, TIMES, sizeof(wall[0]), compare);
    qsort(cpu, TIMES, sizeof(cpu[0]), compare);
    printf("%s %.1f %.1f\n", rsslag_way_name(reading.way), wall[TIMES / 2], cpu[TIMES / 2]);
    return 0;
}

static volatile int restless;

static void *touch(void *unused)
{
    const size_t size = 1 << 20;

    while (restless) {
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        memset(memory, 1, size);
        munmap(memory, size);
    }
    return unused;
}

/* Prints whether a handle can use STATUS while other threads touch so much memory that the experiment fails, and whether the
 * same handle can use it once they have ended. */
static int rest(void)
{
    struct rsslag_error error = RSSLAG_ERROR_INIT;
    struct rsslag_options options = {sizeof(options), RSSLAG_WAY_STATUS, NULL};
    pthread_t thread[4];
    int i, status;

    restless = 1;
    for (i = 0; i < 4; ++i)
        pthread_create(&thread[i], NULL, touch, NULL);
    /* Sometimes the threads do not disturb the experiment: then it tries another handle. */
    for (i = 0; i < 1000; ++i) {
        status = rsslag_why_not(handle, RSSLAG_WAY_STATUS, &error);
        if (status != RSSLAG_OK && strstr(error.what, "cannot determine"))
            break;
        rsslag_close(handle);
        if (rsslag_open(&options, &handle, NULL) != RSSLAG_OK)
            return 1;
    }
    printf("%s\n", status == RSSLAG_OK ? "exact" : error.what);
    restless = 0;
    for (i = 0; i < 4; ++i)
        pthread_join(thread[i], NULL);
    for (i = 0; i < 60 * 1000; ++i) {
        status = rsslag_why_not(handle, RSSLAG_WAY_STATUS, &error);
        if (status == RSSLAG_OK || !strstr(error.what, "cannot determine"))
            break;
        usleep(1000);
    }
    printf("%s\n", status == RSSLAG_OK ? "exact" : error.what);
    return 0;
}

/* The state that a library must not change: the lines of a file that begin with one of these words. */
static size_t state_of(const char *path, const char *const *words, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    char line[512];
    size_t used = 0;
    int i;

    while (file && fgets(line, sizeof(line), file))
        for (i = 0; words[i]; ++i)
            if (!strncmp(line, words[i], strlen(words[i])) && used + strlen(line) < size)
                used += (size_t)sprintf(text + used, "%s", line);
    if (file)
        fclose(file);
    return used;
}

static void state(char *text, size_t size)
{
    static const char *const status[] = {"Sig", "Shd", "Cap", "NoNewPrivs", "Seccomp", "Threads", "Uid", "Gid", NULL};
    static const char *const everything[] = {"", NULL};
    size_t used = state_of("/proc/self/status", status, text, size);

    state_of("/proc/self/limits", everything, text + used, size - used);
}

static int heard;

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
    (void)level, (void)format, (void)args;
    return ++heard;
}

/* Calls each function once by each way. After that the state of this process must be the same. */
static int unchanged(int pid)
{
    struct rsslag_options options = RSSLAG_OPTIONS_INIT;
    struct rsslag_error error = RSSLAG_ERROR_INIT;
    static char before[8192], after[8192];
    struct rsslag_reading reading = RSSLAG_READING_INIT;
    struct rsslag_list *list;
    int way;

    libbpf_set_print(hear);
    state(before, sizeof(before));
    for (way = 0; way < 16; way = way ? way * 2 : 1) {
        options.ways = (uint32_t)way;
        if (rsslag_open(&options, &handle, &error) != RSSLAG_OK)
            return told(&error);
        rsslag_exact(handle, pid, &reading, NULL);
        rsslag_exact_self(handle, &reading, NULL);
        if (rsslag_all(handle, &list, NULL) == RSSLAG_OK)
            rsslag_list_free(list);
        if (way && rsslag_why_not(handle, (uint32_t)way, &error) != RSSLAG_OK)
            printf("%s: %s\n", rsslag_way_name((uint32_t)way), error.what);
        rsslag_close(handle);
    }
    state(after, sizeof(after));
    printf("state %s\n", strcmp(before, after) ? after : "same");
    printf("libbpf %s\n", heard || libbpf_set_print(hear) != hear ? "touched" : "untouched");
    printf("children %s\n", waitpid(-1, NULL, WNOHANG) == -1 ? "none" : "some");
    return 0;
}

/* A handle belongs to the process that opened it. */
static int forked(void)
{
    int status;

    fflush(stdout);
    if (fork() == 0) {
        status = exact(0);
        rsslag_close(handle);
        fflush(stdout);
        _exit(status);
    }
    wait(&status);
    return WEXITSTATUS(status);
}

#define FIELD(name) printf(#name " %zu\n", offsetof(struct rsslag_reading, name))

static int sizes(void)
{
    printf("reading %zu\nerror %zu\noptions %zu\n", sizeof(struct rsslag_reading), sizeof(struct rsslag_error),
           sizeof(struct rsslag_options));
    FIELD(pid), FIELD(way), FIELD(scheme), FIELD(known), FIELD(marks), FIELD(page_size), FIELD(rss), FIELD(cached_rss);
    FIELD(lag), FIELD(bound_rss), FIELD(threads), FIELD(took_ns), FIELD(exact), FIELD(flushed), FIELD(cached), FIELD(bound);
    FIELD(comm);
    return 0;
}

/* Callers of other versions: a smaller structure is refused; in a larger one the unknown fields become 0. */
static int versions(int pid)
{
    struct {
        struct rsslag_reading reading;
        unsigned char more[16];
    } newer = {RSSLAG_READING_INIT, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct rsslag_reading reading = RSSLAG_READING_INIT;
    struct rsslag_error error = RSSLAG_ERROR_INIT;
    int i, left = 0;

    newer.reading.size = sizeof(newer.reading) + 8;
    if (rsslag_exact(handle, pid, &newer.reading, &error) != RSSLAG_OK)
        return told(&error);
    for (i = 0; i < 16; ++i)
        left += newer.more[i] != 0;
    printf("size %d left %d ninth %d\n", newer.reading.size == sizeof(newer.reading) + 8, left, newer.more[8]);
    reading.size = 8;
    printf("short %d\n", rsslag_exact(handle, pid, &reading, &error));
    printf("null %d %d\n", rsslag_exact(NULL, pid, &reading, &error), rsslag_exact(handle, pid, NULL, NULL));
    rsslag_close(NULL);
    rsslag_list_free(NULL);
    return 0;
}

/* library_user COMMAND PID WAYS DIRECTORY */
int main(int argc, char **argv)
{
    struct rsslag_options options = RSSLAG_OPTIONS_INIT;
    struct rsslag_error error = RSSLAG_ERROR_INIT;
    int pid, status;

    if (argc != 5)
        return 2;
    pid = atoi(argv[2]);
    if (!strcmp(argv[1], "sizes"))
        return sizes();
    if (!strcmp(argv[1], "unchanged"))
        return unchanged(pid);
    options.ways = (uint32_t)atoi(argv[3]);
    options.directory = *argv[4] ? argv[4] : NULL;
    if (rsslag_open(&options, &handle, &error) != RSSLAG_OK)
        return told(&error);
    status = !strcmp(argv[1], "exact")      ? exact(pid)
             : !strcmp(argv[1], "all")      ? all()
             : !strcmp(argv[1], "threads")  ? threads(pid)
             : !strcmp(argv[1], "times")    ? times(pid)
             : !strcmp(argv[1], "rest")     ? rest()
             : !strcmp(argv[1], "forked")   ? forked()
             : !strcmp(argv[1], "versions") ? versions(pid)
                                            : 2;
    rsslag_close(handle);
    return status;
}
