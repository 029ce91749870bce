/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the registry's socket: who asks is answered; whoever babbles, is silent or comes in crowds
 * harms nobody. */
#include "registry_server.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"
#include "unit.h"

struct hall {
        char folder[64];
        struct loop *loop;
        struct registry_server *server;
        unsigned asked;
        int status, raised;
};

static int on_register(void *owner, const struct registry_peer *peer,
                       const struct registry_request *request, int *ret_raised)
{
        struct hall *hall = owner;

        CHECK_EQ(peer->pid, getpid());
        CHECK(strlen(request->program) < REGISTRY_TEXT);
        hall->asked++;
        *ret_raised = hall->raised;
        return hall->status;
}

static void hall_open(struct hall *hall)
{
        struct registry_service service = { on_register, hall };
        static int number;
        struct err e = { 0 };

        *hall = (struct hall){ 0 };
        snprintf(hall->folder, sizeof hall->folder, "/dev/shm/vgpu-test-registry-%d-%d", getpid(),
                 ++number);
        CHECK_EQ(loop_new(&hall->loop), 0);
        if (registry_server_new(hall->loop, hall->folder, &service, &hall->server, &e) < 0)
                fail_msg("%s", e.text);
}

static void hall_close(struct hall *hall)
{
        char path[96];

        registry_server_free(hall->server);
        loop_free(hall->loop);
        snprintf(path, sizeof path, "%s/socket", hall->folder);
        unlink(path);
        CHECK_EQ(rmdir(hall->folder), 0);
}

static int dial(const struct hall *hall)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", hall->folder);
        CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        return fd;
}

static void run_once(struct hall *hall)
{
        for (int i = 0; i < 8; i++)
                loop_step(hall->loop, NS_PER_MS);
}

static ssize_t exchange(struct hall *hall, const void *bytes, size_t count,
                        struct registry_reply *ret_reply)
{
        int fd = dial(hall);

        CHECK_EQ(send(fd, bytes, count, 0), (ssize_t)count);
        run_once(hall);
        const ssize_t got = recv(fd, ret_reply, sizeof *ret_reply, MSG_DONTWAIT);
        close(fd);
        return got;
}

/* Whether this test runs in a group that has a name is the machine's affair. */
static int own_status(void)
{
        struct control_group group;

        return control_group_of(getpid(), &group) < 0 ? -EACCES : 0;
}

TEST(requests_of_both_versions_are_answered_in_theirs)
{
        struct registry_request request = { .magic = REGISTRY_MAGIC, .version = 2 };
        struct registry_reply reply = { 0 };
        struct hall hall;

        hall_open(&hall);
        hall.raised = -ENOSPC;
        memset(request.program, 'x', sizeof request.program); /* without an end */
        CHECK_EQ(exchange(&hall, &request, sizeof request, &reply), sizeof reply);
        CHECK_EQ(reply.status, own_status());
        CHECK_EQ(reply.version, 2);
        if (reply.status == 0) {
                CHECK_EQ(reply.host_pid, getpid());
                CHECK_EQ(reply.raised, -ENOSPC);
        }
        request.version = 1;
        CHECK_EQ(exchange(&hall, &request, 344, &reply), sizeof reply);
        CHECK_EQ(reply.version, 1);
        hall.status = -EACCES;
        CHECK_EQ(exchange(&hall, &request, 344, &reply), sizeof reply);
        CHECK_EQ(reply.status, -EACCES);
        CHECK_EQ(reply.host_pid, 0);
        hall_close(&hall);
}

TEST(a_pid_that_is_another_processs_by_now_is_refused)
{
        struct registry_request request = { .magic = REGISTRY_MAGIC,
                                            .version = 2,
                                            .start_time = 1 };
        struct registry_reply reply = { 0 };
        struct hall hall;

        hall_open(&hall);
        CHECK_EQ(exchange(&hall, &request, sizeof request, &reply), sizeof reply);
        CHECK_EQ(reply.status, -EACCES);
        CHECK_EQ(hall.asked, 0);
        hall_close(&hall);
}

/* Another process of the same pid, which waits to be killed. Only root may. */
static pid_t impostor_start(pid_t pid)
{
        struct clone_args arguments = { .exit_signal = SIGCHLD,
                                        .set_tid = (uintptr_t)&pid,
                                        .set_tid_size = 1 };
        const pid_t made = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);

        if (made == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where a check fails */
        while (made == 0)
                pause();
        return made;
}

TEST(a_reused_pid_is_not_the_process_that_connected)
{
        const struct registry_request request = { .magic = REGISTRY_MAGIC, .version = 2 };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct registry_reply reply = { 0 };
        struct hall hall;

        hall_open(&hall);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", hall.folder);
        const pid_t pid = fork();
        if (pid == 0)
                _exit(connect(fd, (struct sockaddr *)&address, sizeof address) < 0);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        run_once(&hall); /* it is heard that somebody connected */
        for (const uint64_t then = process_ticks_now(); process_ticks_now() < then + 2;)
                ;
        const pid_t impostor = impostor_start(pid);
        if (impostor == pid) {
                CHECK_EQ(send(fd, &request, sizeof request, 0), sizeof request);
                run_once(&hall);
                CHECK_EQ(recv(fd, &reply, sizeof reply, MSG_DONTWAIT), sizeof reply);
                CHECK_EQ(reply.status, -EACCES);
                CHECK_EQ(hall.asked, 0);
                kill(impostor, SIGKILL);
                waitpid(impostor, NULL, 0);
        }
        close(fd);
        hall_close(&hall);
}

TEST(what_is_no_request_gets_no_answer)
{
        struct registry_request request = { .magic = REGISTRY_MAGIC, .version = 2 };
        char babble[8192];
        struct registry_reply reply;
        struct hall hall;

        hall_open(&hall);
        memset(babble, 7, sizeof babble);
        CHECK_EQ(exchange(&hall, babble, 1, &reply), 0);
        CHECK_EQ(exchange(&hall, babble, sizeof request, &reply), 0);
        CHECK_EQ(exchange(&hall, babble, sizeof babble, &reply), 0);
        CHECK_EQ(exchange(&hall, &request, sizeof request - 1, &reply), 0);
        request.version = 1;
        CHECK_EQ(exchange(&hall, &request, sizeof request, &reply), 0);
        CHECK_EQ(hall.asked, 0);
        CHECK_EQ(registry_server_connections(hall.server), 0);
        hall_close(&hall);
}

TEST(a_crowd_of_silent_peers_keeps_nobody_out)
{
        struct registry_request request = { .magic = REGISTRY_MAGIC, .version = 2 };
        struct registry_reply reply;
        struct hall hall;
        int silent[200];

        hall_open(&hall);
        for (unsigned i = 0; i < 200; i++) {
                silent[i] = dial(&hall);
                loop_step(hall.loop, NS_PER_MS);
        }
        CHECK(registry_server_connections(hall.server) <= 64);
        CHECK_EQ(exchange(&hall, &request, sizeof request, &reply), sizeof reply);
        for (unsigned i = 0; i < 200; i++)
                close(silent[i]);
        for (unsigned i = 0; i < 200; i++)
                loop_step(hall.loop, 0);
        CHECK_EQ(registry_server_connections(hall.server), 0);
        hall_close(&hall);
}

TEST(a_flood_is_heard_at_a_bounded_pace)
{
        const uint64_t end_ns = clock_now_ns() + 300 * NS_PER_MS;
        struct hall hall;
        unsigned heard = 0;

        hall_open(&hall);
        while (clock_now_ns() < end_ns) {
                struct sockaddr_un address = { .sun_family = AF_UNIX };
                int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

                snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", hall.folder);
                if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
                        loop_step(hall.loop, 0);
                        loop_step(hall.loop, 0);
                        heard += registry_server_connections(hall.server) > 0;
                }
                close(fd);
                loop_step(hall.loop, 0);
        }
        CHECK(heard <= 1000 + 500); /* what is saved up, and a second's worth */
        hall_close(&hall);
}

TEST(clients_over_the_limit_are_refused)
{
        struct registry_request request = { .magic = REGISTRY_MAGIC, .version = 2 };
        struct registry_reply reply;
        struct hall hall;
        unsigned answered = 0, refused = 0;
        const uint64_t begin_ns = clock_now_ns();

        hall_open(&hall);
        for (unsigned i = 0; i < 1500; i++) {
                int fd = dial(&hall);

                (void)!send(fd, &request, sizeof request, MSG_NOSIGNAL);
                for (int rounds = 0; rounds < 100; rounds++) {
                        loop_step(hall.loop, NS_PER_MS);
                        const ssize_t got = recv(fd, &reply, sizeof reply, MSG_DONTWAIT);
                        if (got >= 0 || errno == ECONNRESET) {
                                answered += got > 0;
                                refused += got <= 0;
                                break;
                        }
                }
                close(fd);
        }
        CHECK_EQ(answered + refused, 1500);
        CHECK(answered >= 1000); /* what it had saved up */
        CHECK(answered <= 1001 + 500 * (clock_now_ns() - begin_ns) / NS_PER_S);
        hall_close(&hall);
}

int main(void)
{
        return RUN(CASE(requests_of_both_versions_are_answered_in_theirs),
                   CASE(a_pid_that_is_another_processs_by_now_is_refused),
                   CASE(a_reused_pid_is_not_the_process_that_connected),
                   CASE(what_is_no_request_gets_no_answer),
                   CASE(a_crowd_of_silent_peers_keeps_nobody_out),
                   CASE(a_flood_is_heard_at_a_bounded_pace),
                   CASE(clients_over_the_limit_are_refused));
}
