/* SPDX-License-Identifier: Apache-2.0 */
/* session: opens the machine that the environment names, and counts who uses it. */
#include "session.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entry.h"
#include "event.h"
#include "log.h"
#include "scope.h"

static struct {
        pthread_mutex_t lock;
        unsigned references;
        struct machine machine;
        struct entry_machine entry;
} session = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool session_fault(const char *function, int *ret_result)
{
        return fault_strikes(&session.machine, function, ret_result);
}

static void session_unsupported(const char *function)
{
        (void)function;
        machine_count(&session.machine, COUNTER_UNSUPPORTED_CALLS, 1);
}

/* The driver asks for CAP_SYS_ADMIN, which root in a container does not have. Users may do to machines of their own
 * what they like. */
static bool session_is_admin(void)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        struct stat machine;

        if (syscall(SYS_capget, &head, sets) == 0 && sets[0].effective >> CAP_SYS_ADMIN & 1)
                return true;
        return geteuid() != 0 && fstat(session.machine.fd, &machine) == 0 &&
               machine.st_uid == geteuid();
}

struct machine *session_machine(void)
{
        return &session.machine;
}

nvmlReturn_t session_open(void)
{
        autounlock pthread_mutex_t *held = scope_lock(&session.lock);
        struct err e = { 0 };

        if (session.references == 0) {
                int r = machine_open_default(&session.machine, &e);
                if (r < 0) {
                        if (r != -ENOENT)
                                log_error("%s", e.text);
                        return r == -EACCES ? NVML_ERROR_NO_PERMISSION
                                            : NVML_ERROR_DRIVER_NOT_LOADED;
                }
                session.entry = (struct entry_machine){
                        .attention = &session.machine.file->header.attention,
                        .fault = session_fault,
                        .unsupported = session_unsupported,
                        .is_admin = session_is_admin,
                };
                entry_attach(&session.entry);
                entry_set_initialised(true);
        }
        session.references++;
        return NVML_SUCCESS;
}

nvmlReturn_t session_close(void)
{
        autounlock pthread_mutex_t *held = scope_lock(&session.lock);

        /* As the real library, for which one shutdown too many is none. */
        if (session.references == 0)
                return NVML_SUCCESS;
        if (--session.references == 0) {
                entry_set_initialised(false);
                entry_attach(NULL);
                machine_close(&session.machine);
        }
        return NVML_SUCCESS;
}

nvmlReturn_t session_result(int error)
{
        switch (-error) {
        case 0:
                return NVML_SUCCESS;
        case EINVAL:
                return NVML_ERROR_INVALID_ARGUMENT;
        case ENOENT:
                return NVML_ERROR_NOT_FOUND;
        case EBUSY:
                return NVML_ERROR_IN_USE;
        case ENOSPC:
                return NVML_ERROR_INSUFFICIENT_RESOURCES;
        case EOPNOTSUPP:
                return NVML_ERROR_NOT_SUPPORTED;
        case ETIMEDOUT:
                return NVML_ERROR_TIMEOUT;
        case ENOMEM:
                return NVML_ERROR_MEMORY;
        case ENODEV:
                return NVML_ERROR_GPU_IS_LOST;
        default:
                return NVML_ERROR_UNKNOWN;
        }
}
