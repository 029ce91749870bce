/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-burn: keeps GPUs busy and checks what they compute. Options as gpu_burn has them. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"
#include "clock.h"
#include "quantity.h"
#include "str.h"

enum { GPUS_MOST = 64, REPORT_MS = 250 };

struct options {
        uint64_t seconds;
        uint64_t memory_bytes;
        unsigned memory_percent;
        bool is_double, is_list, is_tensor, has_time;
        int only; /* -1: all */
};

static _Atomic bool is_stopped;

static void on_signal(int number)
{
        (void)number;
        is_stopped = true;
}

static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int complain(const char *format, ...)
{
        va_list arguments;
        char text[1024];

        fflush(stdout);
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        str_tame(text); /* what it quotes may hold escapes */
        fprintf(stderr, "vgpu-burn: %s\n", text);
        return 2;
}

static void print_help(void)
{
        printf("Usage: vgpu-burn [OPTION]… [SECONDS]\n\n"
               "Fills the memory of every GPU, keeps it busy (10 seconds by default), and checks\n"
               "the results. Ends with OK or FAULTY for each GPU; exit status 1 if any is "
               "faulty.\n\n"
               "Options:\n"
               "  -m SIZE     use this much memory: 512 (MiB), 1.5g, 300Mi …\n"
               "  -m N%%       use this part of the free memory; default 90%%\n"
               "  -d          compute in double precision\n"
               "  -tc         use tensor cores where there is a kernel for them\n"
               "  -l          list the GPUs\n"
               "  -i N        only GPU N\n"
               "  --version   print the version\n"
               "  -h, --help  print this text\n");
}

/* gpu_burn's megabytes, its percent, or any size. */
static int memory_parse(const char *text, struct options *options, struct err *e)
{
        const size_t length = strlen(text);

        if (length > 0 && text[length - 1] == '%') {
                options->memory_bytes = 0;
                return quantity_parse_percent(text, "-m", &options->memory_percent, e);
        }
        if (quantity_parse_bytes(text, &options->memory_bytes, e) < 0)
                return -1;
        if (strspn(text, "0123456789") == length)
                options->memory_bytes <<= 20;
        return options->memory_bytes ? 0 : err_set(e, -1, "-m must be more than 0");
}

/* 0: go on; 1: done, all is well; 2: bad options. */
static int options_parse(struct options *options, int argc, char **argv)
{
        struct err e = { 0 };
        uint64_t number = 0;

        for (int i = 1; i < argc; i++) {
                const char *word = argv[i];
                const char *value = i + 1 < argc ? argv[i + 1] : NULL;
                int r = 0;

                if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
                        print_help();
                        return 1;
                }
                if (strcmp(word, "--version") == 0) {
                        printf("vgpu-burn %s\n", VGPU_VERSION);
                        return 1;
                }
                if (strcmp(word, "-d") == 0)
                        options->is_double = true;
                else if (strcmp(word, "-l") == 0)
                        options->is_list = true;
                else if (strcmp(word, "-tc") == 0)
                        options->is_tensor = true;
                else if ((strcmp(word, "-m") == 0 || strcmp(word, "-i") == 0) && !value)
                        return complain("'%s' needs a value", word);
                else if (strcmp(word, "-m") == 0)
                        r = memory_parse(argv[++i], options, &e);
                else if (strcmp(word, "-i") == 0)
                        r = quantity_parse_whole(argv[++i], "-i", 0, GPUS_MOST - 1, &number, &e);
                else if (word[0] == '-')
                        return complain("there is no option '%s'; see vgpu-burn --help", word);
                else if (options->has_time)
                        return complain("unexpected argument '%s' (one time in seconds)", word);
                else
                        r = quantity_parse_whole(word, "the time in seconds", 1, 1000000000,
                                                 &options->seconds, &e);
                if (r < 0)
                        return complain("%s", e.text);
                if (strcmp(word, "-i") == 0)
                        options->only = (int)number;
                options->has_time |= word[0] != '-';
        }
        return 0;
}

static int gpus_find(const struct burn_driver *driver, const struct options *options,
                     const struct burn_plan *plan, struct burn_gpu *gpus, int *ret_count)
{
        int count = 0, used = 0;
        CUresult r = driver->cuDeviceGetCount(&count);

        if (r != CUDA_SUCCESS)
                return complain("cannot count the GPUs: %s", burn_driver_error(driver, r));
        if (count == 0 || options->only >= count)
                return complain("there is no GPU %d (%d found)",
                                options->only < 0 ? 0 : options->only, count);
        for (int i = 0; i < count && used < GPUS_MOST; i++) {
                struct burn_gpu *gpu = &gpus[used];
                CUdevice device;

                if (options->only >= 0 && options->only != i)
                        continue;
                *gpu = (struct burn_gpu){ .plan = plan, .ordinal = i };
                if (driver->cuDeviceGet(&device, i) != CUDA_SUCCESS ||
                    driver->cuDeviceGetName(gpu->name, sizeof gpu->name, device) != CUDA_SUCCESS ||
                    driver->cuDeviceGetPCIBusId(gpu->pci_bus_id, sizeof gpu->pci_bus_id, device) !=
                            CUDA_SUCCESS)
                        return complain("cannot ask GPU %d for its name", i);
                used++;
        }
        *ret_count = used;
        return 0;
}

static void print_numbers(const char *title, struct burn_gpu *gpus, int count,
                          void (*print)(struct burn_gpu *gpu))
{
        printf("   %s ", title);
        for (int i = 0; i < count; i++) {
                fputs(i ? " - " : "", stdout);
                print(&gpus[i]);
        }
}

static void print_errors(struct burn_gpu *gpu)
{
        printf("%llu", (unsigned long long)gpu->errors);
}

static void print_temperature(struct burn_gpu *gpu)
{
        const int degrees = burn_temperature(gpu->pci_bus_id);

        if (degrees < 0)
                printf("--");
        else
                printf("%d C", degrees);
}

/* While it burns: filling the memory and finding the size of a launch is not part of it. */
static double gflops_of(const struct burn_gpu *gpu)
{
        const uint64_t last_ns = gpu->last_ns, begin_ns = gpu->begin_ns;

        return last_ns > begin_ns ? (double)gpu->flop / (double)(last_ns - begin_ns) : 0;
}

static void report(struct burn_gpu *gpus, int count, double share)
{
        const bool is_terminal = isatty(STDOUT_FILENO);

        printf("%s%.1f%%  proc'd: ", is_terminal ? "\r" : "", share * 100);
        for (int i = 0; i < count; i++) {
                const double gflops = gflops_of(&gpus[i]);

                printf("%s%llu (%.*f Gflop/s)", i ? " - " : "",
                       (unsigned long long)gpus[i].launches, gflops < 10 ? 3 : 0, gflops);
        }
        print_numbers("errors:", gpus, count, print_errors);
        print_numbers("temps:", gpus, count, print_temperature);
        printf("%s", is_terminal ? "\033[K" : "\n");
        fflush(stdout);
}

static bool are_done(struct burn_gpu *gpus, int count)
{
        for (int i = 0; i < count; i++)
                if (!gpus[i].is_done)
                        return false;
        return true;
}

/* Before, others may still write about what cannot be had: not into a line of ours. */
static bool has_begun(struct burn_gpu *gpus, int count)
{
        for (int i = 0; i < count; i++)
                if (gpus[i].launches)
                        return true;
        return false;
}

static void watch(const struct options *options, struct burn_gpu *gpus, int count,
                  uint64_t begin_ns)
{
        const uint64_t span_ns = options->seconds * NS_PER_S;
        const bool is_terminal = isatty(STDOUT_FILENO);
        unsigned tenth = 0;

        while (!are_done(gpus, count)) {
                const uint64_t elapsed_ns = clock_now_ns() - begin_ns;
                const double share =
                        elapsed_ns < span_ns ? (double)elapsed_ns / (double)span_ns : 1;

                /* A log gets a line for every tenth, a terminal one that changes. */
                if ((is_terminal && has_begun(gpus, count)) || (unsigned)(share * 10) > tenth) {
                        tenth = (unsigned)(share * 10);
                        report(gpus, count, share);
                }
                usleep(REPORT_MS * 1000);
        }
        report(gpus, count, is_stopped ? (double)(clock_now_ns() - begin_ns) / (double)span_ns : 1);
        printf("%s\n", is_terminal ? "\n" : "");
}

static int verdict(struct burn_gpu *gpus, int count)
{
        int code = 0;

        printf("Tested %d GPU%s:\n", count, count > 1 ? "s" : "");
        for (int i = 0; i < count; i++) {
                const bool is_faulty = gpus[i].errors > 0 || gpus[i].error.code < 0;

                printf("\tGPU %d: %s", gpus[i].ordinal, is_faulty ? "FAULTY" : "OK");
                if (gpus[i].error.code < 0)
                        printf(" (%s)", gpus[i].error.text);
                putchar('\n');
                code |= is_faulty;
        }
        return code;
}

static int burn_all(const struct options *options, struct burn_gpu *gpus, int count,
                    struct burn_plan *plan)
{
        pthread_t threads[GPUS_MOST];
        const uint64_t begin_ns = clock_now_ns();
        int started = 0;

        plan->end_ns = begin_ns + options->seconds * NS_PER_S;
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        for (; started < count; started++) {
                printf("GPU %d: %s\n", gpus[started].ordinal, gpus[started].name);
                if (pthread_create(&threads[started], NULL, burn_gpu_run, &gpus[started]) != 0) {
                        is_stopped = true;
                        complain("cannot start a thread");
                        break;
                }
        }
        fflush(stdout);
        watch(options, gpus, started, begin_ns);
        for (int i = 0; i < started; i++)
                pthread_join(threads[i], NULL);
        return started < count ? 1 : verdict(gpus, count);
}

int main(int argc, char **argv)
{
        struct options options = { .seconds = 10, .memory_percent = 90, .only = -1 };
        static struct burn_gpu gpus[GPUS_MOST];
        struct burn_driver driver;
        struct burn_plan plan = { .driver = &driver, .is_stopped = &is_stopped };
        struct err e = { 0 };
        int count = 0, r = options_parse(&options, argc, argv);

        if (r != 0)
                return r == 1 ? 0 : r;
        if (burn_driver_open(&driver, &e) < 0)
                return complain("%s", e.text);
        r = gpus_find(&driver, &options, &plan, gpus, &count);
        if (r != 0)
                return r;
        if (options.is_list) {
                for (int i = 0; i < count; i++)
                        printf("GPU %d: %s (%s)\n", gpus[i].ordinal, gpus[i].name,
                               gpus[i].pci_bus_id);
                return 0;
        }
        if (options.is_tensor)
                complain("there is no kernel for tensor cores yet; using multiply-add");
        plan.memory_bytes = options.memory_bytes;
        plan.memory_percent = options.memory_percent;
        plan.is_double = options.is_double;
        return burn_all(&options, gpus, count, &plan);
}
