/* Reading an account piece by piece. */
#include "account_view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "region_compute.h"
#include "region_word.h"
#include "scope.h"
#include "str.h"

enum { BUSY_MS = 1000 };

/* How the file begins. */
struct head {
        _Atomic uint64_t magic;
        uint32_t version, device_count;
        _Atomic uint32_t slots_high;
};
static_assert(offsetof(struct region_file, slots_high) == offsetof(struct head, slots_high),
              "the head is the file's");

/* How a slot begins. */
struct slot_head {
        _Atomic uint64_t state, start_time;
        _Atomic uint32_t host_pid, node_pid;
        char name[sizeof((struct region_slot *)0)->name];
};
static_assert(offsetof(struct region_slot, name) == offsetof(struct slot_head, name),
              "the head is the slot's");

static int read_at(int fd, size_t offset, void *to, size_t bytes)
{
        const ssize_t count = pread(fd, to, bytes, (off_t)offset);

        if (count < 0)
                return -errno;
        return (size_t)count == bytes ? 0 : -EIO;
}

static size_t slot_offset(uint32_t slot)
{
        return offsetof(struct region_file, slots) + slot * sizeof(struct region_slot);
}

static uint64_t units_bytes(uint64_t units)
{
        return units << REGION_UNIT_BITS;
}

int account_view_open(const char *path, struct account_view *ret_view, struct err *e)
{
        struct head head;
        struct account_view view = { 0 };
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        int r = fd < 0 ? -errno : read_at(fd, 0, &head, sizeof head);

        if (r < 0)
                return err_set(e, r, "cannot read account '%s': %s", path, strerror(-r));
        if (atomic_load(&head.magic) != REGION_MAGIC || head.version != REGION_VERSION)
                return err_set(e, -EPROTO, "'%s' is no account of this release", path);
        view.slots = atomic_load(&head.slots_high);
        view.slots_all = view.slots < REGION_SLOTS ? view.slots : REGION_SLOTS;
        if (view.slots > ACCOUNT_SLOTS)
                view.slots = ACCOUNT_SLOTS;
        view.compute = malloc(sizeof *view.compute);
        if (!view.compute)
                return err_set(e, -ENOMEM, "out of memory");
        view.fd = steal_fd(fd);
        *ret_view = view;
        return 0;
}

void account_view_close(struct account_view *view)
{
        if (!view->compute)
                return;
        close(view->fd);
        free(view->compute);
        *view = (struct account_view){ 0 };
}

static int read_account(const struct account_view *view, unsigned account,
                        struct region_device *ret_device)
{
        return read_at(view->fd,
                       offsetof(struct region_file, devices) + account * sizeof *ret_device,
                       ret_device, sizeof *ret_device);
}

int account_view_device(const struct account_view *view, unsigned device, uint64_t now_ns,
                        struct account_device *ret_device)
{
        struct region_compute *compute = view->compute;
        struct region_device own, virtual;
        int r = device < REGION_DEVICES ? read_account(view, device, &own) : -EINVAL;

        if (r == 0)
                r = read_account(view, region_virtual(device), &virtual);
        if (r == 0)
                r = read_at(view->fd,
                            offsetof(struct region_file, computes) + device * sizeof *compute,
                            compute, sizeof *compute);
        if (r < 0)
                return r;
        *ret_device = (struct account_device){
                .physical_bytes = units_bytes(word_units(atomic_load(&own.word))),
                .virtual_bytes = units_bytes(word_units(atomic_load(&virtual.word))),
                .refusals = atomic_load(&own.refusals),
                .gpu_ns = atomic_load(&compute->gpu_ns),
                .throttled_ns = atomic_load(&compute->throttled_ns),
                .busy_ratio = (double)region_compute_used_ns(compute, now_ns, BUSY_MS) /
                              (BUSY_MS * (double)NS_PER_MS),
        };
        return 0;
}

/* What we told it when it registered; else what it learned of the driver, unless that speaks the pids of
 * containers. */
static uint32_t pid_on_node(const struct slot_head *head, uint32_t own)
{
        const uint32_t told = atomic_load(&head->node_pid), learned = atomic_load(&head->host_pid);

        return told ? told : learned != own ? learned : 0;
}

/* Only where the node knows it by a pid can a process be seen to be gone. */
static bool is_gone(uint32_t host_pid)
{
        return host_pid && kill((pid_t)host_pid, 0) < 0 && errno == ESRCH;
}

int account_view_process(const struct account_view *view, uint32_t slot,
                         struct account_process *ret_process)
{
        struct slot_head head;
        uint64_t state;
        int r = read_at(view->fd, slot_offset(slot), &head, sizeof head);

        if (r < 0)
                return r;
        state = atomic_load(&head.state);
        const uint32_t own = (uint32_t)(state >> 32);
        if ((state & 0xff) != REGION_LIVE || is_gone(pid_on_node(&head, own)))
                return 0;
        *ret_process = (struct account_process){ .pid = own, .host_pid = pid_on_node(&head, own) };
        head.name[sizeof head.name - 1] = '\0';
        str_copy(ret_process->name, sizeof ret_process->name, head.name);
        return 1;
}

static int read_held(const struct account_view *view, uint32_t slot, unsigned account,
                     struct region_account *ret_account, uint64_t *ret_bytes)
{
        const size_t offset = slot_offset(slot) + offsetof(struct region_slot, accounts) +
                              account * sizeof *ret_account;
        int r = read_at(view->fd, offset, ret_account, sizeof *ret_account);

        if (r == 0)
                *ret_bytes = units_bytes(pair_upper(atomic_load(&ret_account->held)));
        return r;
}

int account_view_use(const struct account_view *view, uint32_t slot, unsigned device,
                     struct account_use *ret_use)
{
        struct region_account own, virtual;
        struct account_use use = { 0 };
        uint64_t claimed = 0;
        int r = device < REGION_DEVICES ? read_held(view, slot, device, &own, &use.physical_bytes)
                                        : -EINVAL;

        if (r == 0)
                r = read_held(view, slot, region_virtual(device), &virtual, &use.virtual_bytes);
        if (r == 0)
                r = read_at(view->fd,
                            slot_offset(slot) + offsetof(struct region_slot, gpu_ns) +
                                    device * sizeof use.gpu_ns,
                            &use.gpu_ns, sizeof use.gpu_ns);
        if (r < 0)
                return r;
        for (unsigned kind = 0; kind < REGION_OTHER; kind++) {
                use.kinds[kind] = atomic_load(&own.kinds[kind]);
                claimed += use.kinds[kind];
        }
        use.kinds[REGION_OTHER] = use.physical_bytes > claimed ? use.physical_bytes - claimed : 0;
        *ret_use = use;
        return 0;
}
