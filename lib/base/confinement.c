/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities and a filter of system calls, by the kernel's own calls. */
#include "confinement.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "confinement_sanitizer.h"

#ifdef __aarch64__
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#endif

enum { FILTER_MOST = 1024 };

struct filter {
        struct sock_filter *at;
        size_t count, most;
};

static void put(struct filter *filter, struct sock_filter instruction)
{
        if (filter->count < filter->most)
                filter->at[filter->count] = instruction;
        filter->count++;
}

static void put_load(struct filter *filter, size_t offset)
{
        put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void put_answer(struct filter *filter, uint32_t answer)
{
        put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* The next instruction if it holds, else the one after. */
static void put_test(struct filter *filter, const struct call_row *row)
{
        const uint16_t compare = BPF_JMP | BPF_K | (row->test == CALL_EQUAL ? BPF_JEQ : BPF_JSET);
        const uint8_t is_negative = row->test == CALL_WITHOUT;

        put(filter, (struct sock_filter)BPF_JUMP(compare, row->value, is_negative, !is_negative));
}

/* Begins with the number of the call loaded, and ends so where it does not answer. */
static void put_row(struct filter *filter, const struct call_row *row, bool has_another)
{
        enum { ALWAYS = 1, TESTED = 4 };
        const uint8_t length = row->test == CALL_ALWAYS ? ALWAYS : TESTED;

        put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)row->number,
                                                 0, length));
        if (row->test != CALL_ALWAYS) {
                put_load(filter,
                         offsetof(struct seccomp_data, args) + row->argument * sizeof(uint64_t));
                put_test(filter, row);
        }
        put_answer(filter, SECCOMP_RET_ALLOW);
        if (row->test != CALL_ALWAYS && has_another)
                put_load(filter, offsetof(struct seccomp_data, nr));
        else if (row->test != CALL_ALWAYS)
                put_answer(filter, SECCOMP_RET_ERRNO | EPERM);
}

static bool table_has(const struct call_row *row, int number)
{
        for (; row->number >= 0; row++)
                if (row->number == number)
                        return true;
        return false;
}

/* Does one of the rows after this, which is of the first table, speak of the same call? */
static bool has_another(const struct call_row *const *tables, const struct call_row *row)
{
        if (table_has(row + 1, row->number))
                return true;
        while (*++tables)
                if (table_has(*tables, row->number))
                        return true;
        return false;
}

size_t confinement_filter(const struct call_row *const *tables, struct sock_filter *ret_filter,
                          size_t most)
{
        struct filter filter = { .at = ret_filter, .most = most };

        put_load(&filter, offsetof(struct seccomp_data, arch));
        put(&filter,
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0));
        put_answer(&filter, SECCOMP_RET_KILL_PROCESS);
        put_load(&filter, offsetof(struct seccomp_data, nr));
        for (; *tables; tables++)
                for (const struct call_row *row = *tables; row->number >= 0; row++)
                        put_row(&filter, row, has_another(tables, row));
        put_answer(&filter, SECCOMP_RET_ERRNO | ENOSYS);
        return filter.count <= most ? filter.count : 0;
}

/* The set that no program we might become has more than; needs a capability itself, and is not needed without it. */
static void bounds_lower(uint64_t kept)
{
        for (unsigned long number = 0; number < 64; number++)
                if (!(kept >> number & 1))
                        prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static int capabilities_keep(uint64_t kept)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

        bounds_lower(kept);
        if (syscall(SYS_capget, &header, sets) < 0)
                return -errno;
        for (unsigned half = 0; half < _LINUX_CAPABILITY_U32S_3; half++) {
                sets[half].permitted &= (uint32_t)(kept >> 32 * half);
                sets[half].effective = sets[half].permitted;
                sets[half].inheritable = 0;
        }
        return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* Refusals are logged by the kernel, where it can (4.14). */
static int filter_install(const struct sock_fprog *program)
{
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                    SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG, program) == 0)
                return 0;
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program) == 0)
                return 0;
        return errno ? -errno : -EIO;
}

static int calls_keep(const struct call_row *const *tables)
{
        struct sock_filter filter[FILTER_MOST];
        const struct call_row *all[8] = { sanitizer_calls };

        for (size_t i = 0; tables[i]; i++) {
                if (i + 2 == sizeof all / sizeof *all)
                        return -E2BIG;
                all[i + 1] = tables[i];
        }
        const size_t count = confinement_filter(all, filter, FILTER_MOST);
        const struct sock_fprog program = { (unsigned short)count, filter };
        return count ? filter_install(&program) : -E2BIG;
}

int confinement_enter(const struct confinement *confinement, struct err *e)
{
        int r = capabilities_keep(confinement->capabilities);

        if (r < 0)
                return err_set(e, r, "cannot give up capabilities: %s", strerror(-r));
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return err_set(e, -errno, "cannot give up new privileges: %s", strerror(errno));
        r = calls_keep(confinement->tables);
        return r < 0 ? err_set(e, r, "cannot give up system calls: %s", strerror(-r)) : 0;
}
