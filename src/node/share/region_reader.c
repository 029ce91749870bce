/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a region piece by piece. */
#include "region_reader.h"

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
        _Atomic uint32_t slots_high, fault;
        _Atomic uint64_t reaped_ns, reap_took_ns, ended_ns;
};
static_assert(offsetof(struct region_file, ended_ns) == offsetof(struct head, ended_ns),
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

/* Never more than a region can count. */
static uint64_t units_bytes(uint64_t units)
{
        return (units < REGION_UNITS_MAX ? units : REGION_UNITS_MAX) << REGION_UNIT_BITS;
}

int region_reader_open(const char *path, struct region_reader *ret_view, struct err *e)
{
        struct head head;
        struct region_reader view = { 0 };
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        int r = fd < 0 ? -errno : read_at(fd, 0, &head, sizeof head);

        if (r < 0)
                return err_set(e, r, "cannot read region '%s': %s", path, strerror(-r));
        if (atomic_load(&head.magic) != REGION_MAGIC || head.version != REGION_VERSION)
                return err_set(e, -EPROTO, "'%s' is not a region of this release", path);
        view.ended_ns = atomic_load(&head.ended_ns);
        view.slots = atomic_load(&head.slots_high);
        view.slots_all = view.slots < REGION_SLOTS ? view.slots : REGION_SLOTS;
        if (view.slots > REGION_READER_SLOTS)
                view.slots = REGION_READER_SLOTS;
        view.compute = malloc(sizeof *view.compute);
        if (!view.compute)
                return err_set(e, -ENOMEM, "out of memory");
        view.fd = steal_fd(fd);
        *ret_view = view;
        return 0;
}

void region_reader_close(struct region_reader *view)
{
        if (!view->compute)
                return;
        close(view->fd);
        free(view->compute);
        *view = (struct region_reader){ 0 };
}

static int read_device(const struct region_reader *view, unsigned index,
                       struct region_device *ret_device)
{
        return read_at(view->fd, offsetof(struct region_file, devices) + index * sizeof *ret_device,
                       ret_device, sizeof *ret_device);
}

static double second_ratio(uint64_t ns)
{
        return (double)ns / (double)(BUSY_MS * NS_PER_MS);
}

int region_reader_device(const struct region_reader *view, unsigned device, uint64_t now_ns,
                         struct reader_device *ret_device)
{
        struct region_compute *compute = view->compute;
        struct region_device own, virtual;
        int r = device < REGION_DEVICES ? read_device(view, device, &own) : -EINVAL;

        if (r == 0)
                r = read_device(view, region_virtual(device), &virtual);
        if (r == 0)
                r = read_at(view->fd,
                            offsetof(struct region_file, computes) + device * sizeof *compute,
                            compute, sizeof *compute);
        if (r < 0)
                return r;
        *ret_device = (struct reader_device){
                .physical_bytes = units_bytes(word_units(atomic_load(&own.word))),
                .virtual_bytes = units_bytes(word_units(atomic_load(&virtual.word))),
                .refusals = atomic_load(&own.refusals),
                .context_bytes = atomic_load(&own.context_bytes),
                .gpu_ns = atomic_load(&compute->gpu_ns),
                .throttled_ns = atomic_load(&compute->throttled_ns),
                .busy_ratio = second_ratio(region_compute_used_ns(compute, now_ns, BUSY_MS)),
                .throttled_ratio =
                        second_ratio(region_compute_throttled_ns(compute, now_ns, BUSY_MS)),
        };
        return 0;
}

/* The pid from its registration; else the one it learned from the driver, unless the driver uses the pids
 * of containers. */
static uint32_t pid_on_node(const struct region_reader *view, const struct slot_head *head,
                            uint32_t own)
{
        const uint32_t registered = atomic_load(&head->node_pid),
                       learned = atomic_load(&head->host_pid);

        if (view->is_of_host)
                return own;
        return registered ? registered : learned != own ? learned : 0;
}

/* Only where the node knows it by a pid can a process be seen to be gone. */
static bool is_gone(uint32_t host_pid)
{
        return host_pid && kill((pid_t)host_pid, 0) < 0 && errno == ESRCH;
}

bool region_reader_has_ended(const struct region_reader *view, uint64_t now_ns)
{
        struct slot_head head;

        /* Later than now is a lie, or has happened meanwhile. */
        if (view->ended_ns + 2 * BUSY_MS * NS_PER_MS > now_ns)
                return true;
        for (uint32_t slot = 1; slot <= view->slots; slot++) {
                if (read_at(view->fd, slot_offset(slot), &head, sizeof head) < 0)
                        return false;
                const uint64_t state = atomic_load(&head.state);
                if ((state & 0xff) == REGION_LIVE &&
                    is_gone(pid_on_node(view, &head, (uint32_t)(state >> 32))))
                        return true;
        }
        return false;
}

int region_reader_process(const struct region_reader *view, uint32_t slot,
                          struct reader_process *ret_process)
{
        struct slot_head head;
        uint64_t state;
        int r = read_at(view->fd, slot_offset(slot), &head, sizeof head);

        if (r < 0)
                return r;
        state = atomic_load(&head.state);
        const uint32_t own = (uint32_t)(state >> 32);
        if ((state & 0xff) != REGION_LIVE || is_gone(pid_on_node(view, &head, own)))
                return 0;
        *ret_process =
                (struct reader_process){ .pid = own, .host_pid = pid_on_node(view, &head, own) };
        head.name[sizeof head.name - 1] = '\0';
        str_copy(ret_process->name, sizeof ret_process->name, head.name);
        return 1;
}

static int read_held(const struct region_reader *view, uint32_t slot, unsigned index,
                     struct region_charges *ret_row, uint64_t *ret_bytes)
{
        const size_t offset =
                slot_offset(slot) + offsetof(struct region_slot, charges) + index * sizeof *ret_row;
        int r = read_at(view->fd, offset, ret_row, sizeof *ret_row);

        if (r == 0)
                *ret_bytes = units_bytes(pair_upper(atomic_load(&ret_row->held)));
        return r;
}

int region_reader_use(const struct region_reader *view, uint32_t slot, unsigned device,
                      struct reader_use *ret_use)
{
        struct region_charges own, virtual;
        struct reader_use use = { 0 };
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
                const uint64_t bytes = atomic_load(&own.kinds[kind]);
                const uint64_t unclaimed = use.physical_bytes - claimed;
                use.kinds[kind] = bytes < unclaimed ? bytes : unclaimed;
                claimed += use.kinds[kind];
        }
        use.kinds[REGION_OTHER] = use.physical_bytes - claimed;
        *ret_use = use;
        return 0;
}
