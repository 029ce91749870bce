/* SPDX-License-Identifier: Apache-2.0 */
/* call_inject PID NUMBER [ARGUMENT]...: lets another process make a system call, by ptrace(2), and prints what came of
 * it. The process must wait in a system call; it waits again afterwards. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { ARGUMENTS = 6 };

#ifdef __x86_64__
/* Back to the instruction that the process has just left by. */
static void call_prepare(struct user_regs_struct *registers, const unsigned long *words)
{
        registers->rip -= 2;
        registers->rax = words[0];
        registers->orig_rax = (unsigned long)-1; /* nothing is begun again */
        registers->rdi = words[1];
        registers->rsi = words[2];
        registers->rdx = words[3];
        registers->r10 = words[4];
        registers->r8 = words[5];
        registers->r9 = words[6];
}

static long call_result(const struct user_regs_struct *registers)
{
        return (long)registers->rax;
}
#else
static void call_prepare(struct user_regs_struct *registers, const unsigned long *words)
{
        registers->pc -= 4;
        registers->regs[8] = words[0];
        for (int i = 0; i < ARGUMENTS; i++)
                registers->regs[i] = words[1 + i];
}

static long call_result(const struct user_regs_struct *registers)
{
        return (long)registers->regs[0];
}
#endif

static void must(int is_done, const char *what)
{
        if (is_done)
                return;
        perror(what);
        exit(errno == EPERM ? 77 : 1);
}

static void registers_move(int request, pid_t pid, struct user_regs_struct *registers)
{
        struct iovec found = { registers, sizeof *registers };

        must(ptrace(request, pid, (void *)NT_PRSTATUS, &found) == 0, "registers");
}

static void stop_await(pid_t pid)
{
        int status;

        must(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status), "wait");
}

int main(int argc, char *argv[])
{
        unsigned long words[1 + ARGUMENTS] = { 0 };
        struct user_regs_struct before, registers;

        if (argc < 3 || argc > 3 + ARGUMENTS)
                return 2;
        const pid_t pid = atoi(argv[1]);
        for (int i = 2; i < argc; i++)
                words[i - 2] = strtoul(argv[i], NULL, 0);
        must(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0, "seize");
        must(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0, "interrupt");
        stop_await(pid);
        registers_move(PTRACE_GETREGSET, pid, &before);
        registers = before;
        call_prepare(&registers, words);
        registers_move(PTRACE_SETREGSET, pid, &registers);
        must(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0, "step");
        stop_await(pid);
        registers_move(PTRACE_GETREGSET, pid, &registers);
        printf("%ld\n", call_result(&registers));
        registers_move(PTRACE_SETREGSET, pid, &before);
        must(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0, "detach");
        return 0;
}
