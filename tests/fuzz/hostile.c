/* SPDX-License-Identifier: Apache-2.0 */
/* hostile SECONDS [SEED]: a tenant rewrites its region, pages and share, and a user his machine, while everybody
 * who reads them does: nobody crashes, hangs, or believes what cannot be. Prints TAP.
 *
 * Twice at the same time: once the tenant also cuts files short and replaces them, which is no harm to those who
 * read from outside; once it does not, and programs of its own container work, too. */
#include "hostile.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum { HALLS = 2, HANG_S = 20 };

struct storm {
        struct hostile_hall halls[HALLS]; /* in the first, files are cut */
        struct hostile_board *boards[HALLS];
        pid_t pids[HALLS][HOSTILE_WORKERS + 1]; /* the last: the tenant; 0: none, or ended */
        unsigned failed;
        unsigned seed;
};

static const char *const file_names[FILE_COUNT] = {
        [FILE_SHARE] = "share", [FILE_REGION] = "region",   [FILE_GRANT] = "grant",
        [FILE_WANT] = "want",   [FILE_MACHINE] = "machine", [FILE_ARBITER] = "../.arbiter",
};

static void hall_make(struct hostile_hall *hall)
{
        char share[HOSTILE_PATH];

        snprintf(hall->folder, sizeof hall->folder, "/dev/shm/vgpu-hostile-XXXXXX");
        if (!mkdtemp(hall->folder))
                exit(2);
        snprintf(share, sizeof share, "%.60s/vgpu-%u", hall->folder, (unsigned)getuid());
        if (mkdir(share, 0700) < 0)
                exit(2);
        strcat(share, "/program");
        if (mkdir(share, 0700) < 0)
                exit(2);
        for (unsigned i = 0; i < FILE_COUNT; i++)
                snprintf(hall->paths[i], sizeof hall->paths[i], "%.100s/%s", share, file_names[i]);
        hostile_files_make(hall);
}

static void hall_remove(const struct hostile_hall *hall)
{
        char path[HOSTILE_PATH];

        for (unsigned i = 0; i < FILE_COUNT; i++)
                unlink(hall->paths[i]);
        snprintf(path, sizeof path, "%.60s/vgpu-%u/program", hall->folder, (unsigned)getuid());
        rmdir(path);
        *strrchr(path, '/') = '\0';
        rmdir(path);
        rmdir(hall->folder);
}

static pid_t process_start(void)
{
        fflush(NULL);
        const pid_t pid = fork();

        if (pid == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

static _Noreturn void work(const struct hostile_hall *hall, struct hostile_board *board,
                           unsigned worker, unsigned seed)
{
        while (!board->is_over) {
                const uint64_t begin_ns = clock_now_ns();
                board->accepted[worker] += hostile_workers[worker].round(hall, &seed);
                const uint64_t took_ns = clock_now_ns() - begin_ns;
                if (took_ns > board->slowest_ns[worker])
                        board->slowest_ns[worker] = took_ns;
                board->rounds[worker]++;
        }
        exit(0);
}

static void hall_start(struct storm *storm, unsigned h)
{
        const bool cuts = h == 0;

        for (unsigned w = 0; w < hostile_worker_count; w++) {
                if (cuts && hostile_workers[w].is_in_container)
                        continue;
                storm->pids[h][w] = process_start();
                if (storm->pids[h][w] == 0)
                        work(&storm->halls[h], storm->boards[h], w, storm->seed + w);
        }
        storm->pids[h][HOSTILE_WORKERS] = process_start();
        if (storm->pids[h][HOSTILE_WORKERS] == 0)
                hostile_rewrite(&storm->halls[h], storm->boards[h], storm->seed + 100 + h, cuts);
}

static const char *name_of(unsigned worker)
{
        return worker == HOSTILE_WORKERS ? "the tenant" : hostile_workers[worker].name;
}

/* Who has ended before the end. */
static void ended_note(struct storm *storm)
{
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG);

        for (unsigned h = 0; h < HALLS && pid > 0; h++)
                for (unsigned w = 0; w <= HOSTILE_WORKERS; w++) {
                        if (storm->pids[h][w] != pid)
                                continue;
                        storm->pids[h][w] = 0;
                        storm->failed++;
                        printf("# %s: ended with status 0x%x\n", name_of(w), (unsigned)status);
                }
}

/* Whoever has made no round for so long hangs, and is killed. */
static void hung_note(struct storm *storm)
{
        static uint64_t seen[HALLS][HOSTILE_WORKERS];
        static time_t since[HALLS][HOSTILE_WORKERS];

        for (unsigned h = 0; h < HALLS; h++)
                for (unsigned w = 0; w < hostile_worker_count; w++) {
                        const uint64_t rounds = storm->boards[h]->rounds[w];
                        if (!storm->pids[h][w] || rounds != seen[h][w] || !since[h][w]) {
                                seen[h][w] = rounds;
                                since[h][w] = time(NULL);
                        } else if (time(NULL) - since[h][w] > HANG_S) {
                                printf("# %s: hangs\n", name_of(w));
                                kill(storm->pids[h][w], SIGABRT);
                                since[h][w] = 0;
                        }
                }
}

/* Who does not end now hangs, and who does not end well has found something. */
static void storm_end(struct storm *storm)
{
        int status = 0;

        for (unsigned i = 0; i < HANG_S * 100; i++) {
                const pid_t pid = waitpid(-1, &status, WNOHANG);
                if (pid < 0)
                        return;
                if (pid > 0 && status != 0) {
                        storm->failed++;
                        printf("# a process ended with status 0x%x\n", (unsigned)status);
                }
                if (pid == 0)
                        usleep(10000);
        }
        storm->failed++;
        printf("# not all have ended\n");
        for (unsigned h = 0; h < HALLS; h++)
                for (unsigned w = 0; w <= HOSTILE_WORKERS; w++)
                        if (storm->pids[h][w])
                                kill(storm->pids[h][w], SIGKILL);
}

static void storm_run(struct storm *storm, double seconds)
{
        const uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);

        for (unsigned h = 0; h < HALLS; h++)
                hall_start(storm, h);
        while (clock_now_ns() < end_ns && !storm->failed) {
                usleep(20000);
                ended_note(storm);
                hung_note(storm);
        }
        for (unsigned h = 0; h < HALLS; h++)
                storm->boards[h]->is_over = true;
        storm_end(storm);
}

static void worker_say(struct storm *storm, unsigned *number, unsigned h, unsigned w)
{
        const struct hostile_board *board = storm->boards[h];

        if (h == 0 && hostile_workers[w].is_in_container)
                return;
        const bool is_good = storm->pids[h][w] && board->rounds[w] && board->accepted[w];
        storm->failed += !is_good;
        printf("%s %u - %s%s: %" PRIu64 " times, %" PRIu64 " of them accepted, %.0f ms at most\n",
               is_good ? "ok" : "not ok", ++*number, hostile_workers[w].name,
               h == 0 ? ", files are cut and replaced" : "", board->rounds[w], board->accepted[w],
               (double)board->slowest_ns[w] / 1e6);
}

static int storm_say(struct storm *storm)
{
        unsigned number = 0;

        for (unsigned h = 0; h < HALLS; h++)
                for (unsigned w = 0; w < hostile_worker_count; w++)
                        worker_say(storm, &number, h, w);
        printf("%s %u - the tenant made %" PRIu64 " and %" PRIu64
               " changes, and all ended well\n1..%u\n",
               storm->failed ? "not ok" : "ok", number + 1, storm->boards[0]->changes,
               storm->boards[1]->changes, number + 1);
        return storm->failed ? 1 : 0;
}

int main(int argc, char **argv)
{
        static struct storm storm;

        if (argc < 2)
                return 2;
        storm.seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)clock_now_ns();
        printf("# seed %u\n", storm.seed);
        for (unsigned h = 0; h < HALLS; h++) {
                hall_make(&storm.halls[h]);
                storm.boards[h] = mmap(NULL, sizeof *storm.boards[h], PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                if (storm.boards[h] == MAP_FAILED)
                        return 2;
        }
        storm_run(&storm, atof(argv[1]));
        for (unsigned h = 0; h < HALLS; h++)
                hall_remove(&storm.halls[h]);
        return storm_say(&storm);
}
