/* SPDX-License-Identifier: Apache-2.0 */
/* timeslices_soak [--tap] VGPU COUNT: kills and stops holders of a GPU's token, its arbiter, and everyone
 * but one, COUNT times, and sees that the rest go on and that no two ever hold it.
 *
 * The tenants are real `vgpu run` programs, the arbiter is theirs. With --tap (make test) the host may
 * be loaded, and "go on" means within a second; otherwise within 50 ms. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arbiter_lock.h"
#include "clock.h"
#include "machine.h"
#include "say.h"
#include "timeslices_board.h"

#define GO_ON_NS    (50 * NS_PER_MS)
#define PATIENT_NS  NS_PER_S
#define SAMPLE_NS   (500 * NS_PER_US)
#define OWN_MOST_NS (5 * NS_PER_MS)

enum { WORKERS = 3, SETTLE_MS = 60, FOLDER_BYTES = 128 };

enum whom { HOLDER, BYSTANDER, ARBITER, ALL_BUT_ONE, WHOMS };
static const char *const whom_names[WHOMS] = { "holder", "bystander", "arbiter", "all but one" };

struct soak {
        const char *vgpu, *self;
        char folder[FOLDER_BYTES];
        struct board *board;
        pid_t pids[WORKERS];
        bool is_hurt[WORKERS];
        uint64_t worst_ns[WHOMS][2];
        unsigned late, lost;
        unsigned disturbed; /* rounds in which the host let even us wait: they say nothing */
        uint64_t own_wait_ns;
        uint64_t bound_ns;
};

static void sleep_ms(unsigned ms)
{
        nanosleep(
                &(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000 * NS_PER_MS) },
                NULL);
}

static void path_in(const struct soak *soak, const char *name, char ret_path[256])
{
        snprintf(ret_path, 256, "%s/%s", soak->folder, name);
}

static _Noreturn void fail(const char *what)
{
        printf("Bail out! %s: %s\n", what, strerror(errno));
        exit(2);
}

static void board_make(struct soak *soak)
{
        char path[256];

        path_in(soak, "board", path);
        const int fd = open(path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, sizeof *soak->board) < 0)
                fail(path);
        soak->board = mmap(NULL, sizeof *soak->board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
}

static void machine_make(const struct soak *soak)
{
        struct machine_spec spec;
        char path[256];
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        path_in(soak, "machine", path);
        if (machine_create(path, &spec, &e) < 0) {
                printf("Bail out! %s\n", e.text);
                exit(2);
        }
}

static _Noreturn void worker_exec(const struct soak *soak, unsigned index)
{
        char machine[256], board[256], name[8], number[8];

        path_in(soak, "machine", machine);
        path_in(soak, "board", board);
        snprintf(name, sizeof name, "t%u", index);
        snprintf(number, sizeof number, "%u", index);
        execl(soak->vgpu, "vgpu", "run", "--machine", machine, "--memory", "1Gi", "--name", name,
              "--", soak->self, "--worker", board, number, NULL);
        _exit(127);
}

static void worker_start(struct soak *soak, unsigned index)
{
        const uint64_t work = atomic_load(&soak->board->workers[index].work);
        const pid_t pid = fork();

        if (pid == 0)
                worker_exec(soak, index);
        soak->pids[index] = pid;
        for (unsigned i = 0; i < 60000; i++) {
                if (atomic_load(&soak->board->workers[index].work) != work)
                        return;
                sleep_ms(1);
        }
        errno = ETIMEDOUT;
        fail("a worker does not begin");
}

static pid_t arbiter_pid(const struct soak *soak)
{
        char path[256];
        struct arbiter_lock lock;

        path_in(soak, "vgpu/.arbiter", path);
        if (arbiter_lock_open(path, &lock, NULL) < 0)
                return 0;
        const pid_t pid = (pid_t)atomic_load(&lock.file->pid);
        arbiter_lock_close(&lock);
        return pid;
}

static void worker_hurt(struct soak *soak, unsigned index, int number)
{
        soak->is_hurt[index] = true;
        if (number == SIGKILL)
                atomic_store(&soak->board->workers[index].is_killed, true);
        kill(soak->pids[index], number);
}

/* The worker to spare of those who are not to be hurt. */
static void hurt(struct soak *soak, enum whom whom, int number)
{
        const uint32_t holder = atomic_load(&soak->board->holder);
        const unsigned one = holder ? holder - 1 : 0;
        const pid_t arbiter = arbiter_pid(soak);

        memset(soak->is_hurt, 0, sizeof soak->is_hurt);
        if (whom == HOLDER)
                worker_hurt(soak, one, number);
        if (whom == BYSTANDER)
                worker_hurt(soak, (one + 1) % WORKERS, number);
        if (whom == ALL_BUT_ONE)
                for (unsigned i = 1; i < WORKERS; i++)
                        worker_hurt(soak, (one + i + 1) % WORKERS, number);
        if ((whom == ARBITER || whom == ALL_BUT_ONE) && arbiter > 0)
                kill(arbiter, number);
}

static uint64_t work_of_the_unhurt(const struct soak *soak)
{
        uint64_t work = 0;

        for (unsigned i = 0; i < WORKERS; i++)
                if (!soak->is_hurt[i])
                        work += atomic_load(&soak->board->workers[i].work);
        return work;
}

/* The longest time in which none of the rest did anything, in the first moments after. */
static uint64_t longest_pause_ns(struct soak *soak)
{
        const uint64_t begin_ns = clock_now_ns();
        uint64_t moved_ns = begin_ns, longest_ns = 0, now_ns = begin_ns;
        uint64_t work = work_of_the_unhurt(soak);

        soak->own_wait_ns = 0;
        while (now_ns - begin_ns < (SETTLE_MS + 40) * NS_PER_MS ||
               (longest_ns == 0 && now_ns - begin_ns < 5 * NS_PER_S)) {
                const uint64_t before_ns = now_ns;
                nanosleep(&(struct timespec){ .tv_nsec = SAMPLE_NS }, NULL);
                now_ns = clock_now_ns();
                if (now_ns - before_ns > soak->own_wait_ns)
                        soak->own_wait_ns = now_ns - before_ns;
                const uint64_t work_now = work_of_the_unhurt(soak);
                if (work_now == work)
                        continue;
                work = work_now;
                if (now_ns - moved_ns > longest_ns)
                        longest_ns = now_ns - moved_ns;
                moved_ns = now_ns;
        }
        return now_ns - moved_ns > longest_ns ? now_ns - moved_ns : longest_ns;
}

static void heal(struct soak *soak, int number)
{
        for (unsigned i = 0; i < WORKERS; i++) {
                if (!soak->is_hurt[i])
                        continue;
                if (number == SIGSTOP) {
                        kill(soak->pids[i], SIGCONT);
                } else {
                        waitpid(soak->pids[i], NULL, 0);
                        worker_start(soak, i);
                }
        }
}

/* Everybody takes part again: each of them works. */
static void check_all_work(struct soak *soak)
{
        for (unsigned i = 0; i < WORKERS; i++) {
                const uint64_t work = atomic_load(&soak->board->workers[i].work);
                unsigned ms = 0;

                while (atomic_load(&soak->board->workers[i].work) == work && ms++ < 5000)
                        sleep_ms(1);
                soak->lost += ms >= 5000;
        }
}

static void round_run(struct soak *soak, unsigned round)
{
        const enum whom whom = round % WHOMS;
        const int number = round / WHOMS % 2 ? SIGSTOP : SIGKILL;
        uint64_t *worst_ns = &soak->worst_ns[whom][number == SIGSTOP];

        hurt(soak, whom, number);
        const uint64_t pause_ns = longest_pause_ns(soak);
        const bool is_disturbed = soak->own_wait_ns > OWN_MOST_NS;
        if (pause_ns > *worst_ns && !is_disturbed)
                *worst_ns = pause_ns;
        soak->late += pause_ns > soak->bound_ns && !is_disturbed;
        soak->disturbed += is_disturbed;
        heal(soak, number);
        check_all_work(soak);
        sleep_ms((unsigned)rand() % SETTLE_MS);
}

static void folder_remove(const struct soak *soak)
{
        char path[256];

        path_in(soak, "board", path);
        unlink(path);
        path_in(soak, "machine", path);
        unlink(path);
        for (int i = 0; i < 100 && rmdir(soak->folder) < 0; i++)
                sleep_ms(50); /* the watchers clean up */
}

static int soak_report(const struct soak *soak)
{
        const unsigned doubles = atomic_load(&soak->board->doubles);

        for (int i = 0; i < WHOMS; i++)
                printf("# %-11s killed: the rest paused %5.1f ms at most, stopped: %5.1f ms\n",
                       whom_names[i], (double)soak->worst_ns[i][0] / 1e6,
                       (double)soak->worst_ns[i][1] / 1e6);
        printf("# %u rounds say nothing: the host let the observer itself wait\n", soak->disturbed);
        say(soak->late == 0, "the rest go on in time (late: %u)", soak->late);
        say(doubles == 0, "never two hold the token (did: %u)", doubles);
        say(soak->lost == 0, "everybody works again afterwards (did not: %u)", soak->lost);
        return say_close(true);
}

static int soak_run(struct soak *soak, unsigned count)
{
        snprintf(soak->folder, sizeof soak->folder, "%s/vgpu-timeslices-soak-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(soak->folder))
                fail(soak->folder);
        setenv("XDG_RUNTIME_DIR", soak->folder, 1);
        board_make(soak);
        machine_make(soak);
        for (unsigned i = 0; i < WORKERS; i++)
                worker_start(soak, i);
        say_open();
        sleep_ms(SETTLE_MS);
        for (unsigned i = 0; i < count; i++)
                round_run(soak, i);
        const int status = soak_report(soak);
        for (unsigned i = 0; i < WORKERS; i++)
                kill(soak->pids[i], SIGKILL);
        folder_remove(soak);
        return status;
}

static int worker_main(const char *path, const char *number)
{
        const int fd = open(path, O_RDWR);
        struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        return board == MAP_FAILED ? 1 : timeslices_worker(board, (unsigned)atoi(number));
}

int main(int argc, char **argv)
{
        static struct soak soak = { .bound_ns = GO_ON_NS };
        char self[256];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        setvbuf(stdout, NULL, _IOLBF, 0);
        if (argc == 4 && strcmp(argv[1], "--worker") == 0)
                return worker_main(argv[2], argv[3]);
        if (argc > 1 && strcmp(argv[1], "--tap") == 0) {
                soak.bound_ns = PATIENT_NS;
                argv++;
                argc--;
        }
        if (argc != 3 || length < 0) {
                fprintf(stderr, "usage: timeslices_soak [--tap] VGPU COUNT\n");
                return 2;
        }
        self[length] = '\0';
        soak.self = self;
        soak.vgpu = argv[1];
        return soak_run(&soak, (unsigned)atoi(argv[2]));
}
