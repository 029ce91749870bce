/* SPDX-License-Identifier: Apache-2.0 */
/* pause: holds a pod's namespaces until it is told to go, and buries the orphans. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void)
{
        sigset_t set;
        int signal_number = 0;

        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGCHLD);
        sigprocmask(SIG_BLOCK, &set, NULL);
        do {
                sigwait(&set, &signal_number);
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
        } while (signal_number == SIGCHLD);
        return 0;
}
