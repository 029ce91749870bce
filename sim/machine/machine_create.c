/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a machine file: GPUs from a preset, identities from a seed. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "machine_boot.h"
#include "preset.h"
#include "scope.h"

void machine_spec_init(struct machine_spec *spec)
{
        *spec = (struct machine_spec){
                .preset = "a100-40gb",
                .gpu_count = 1,
                .context_bytes = -1,
                .time_scale = 1.0,
                .slice_ns = 2000000,
                .launch_ns = 2500,
                .content_budget_bytes = UINT64_C(2) << 30,
                .interpret_budget = 300000000,
                .driver_version = 13000,
        };
}

static int spec_check(const struct machine_spec *spec, struct err *e)
{
        if (!preset_find(spec->preset))
                return err_set(e, -EINVAL, "unknown preset '%s'; 'vgpu sim list' shows them",
                               spec->preset);
        if (spec->gpu_count < 1 || spec->gpu_count > MACHINE_GPUS)
                return err_set(e, -EINVAL, "%u GPUs: a machine has 1 to %d", spec->gpu_count,
                               MACHINE_GPUS);
        if (!(spec->time_scale > 0 && spec->time_scale <= 1e6))
                return err_set(e, -EINVAL, "time scale %g: give a number above 0, up to 1000000",
                               spec->time_scale);
        if (!(spec->noise >= 0 && spec->noise <= 2))
                return err_set(e, -EINVAL, "noise %g: give a number from 0 to 2", spec->noise);
        if (spec->slice_ns < 1000 || spec->slice_ns > UINT64_C(10000000000))
                return err_set(e, -EINVAL, "time slice of %llu ns: give 1 µs to 10 s",
                               (unsigned long long)spec->slice_ns);
        if (spec->kernel_count > MACHINE_KERNELS)
                return err_set(e, -EINVAL, "%zu kernel times: a machine keeps at most %d",
                               spec->kernel_count, MACHINE_KERNELS);
        for (size_t i = 0; i < spec->kernel_count; i++) {
                const struct machine_kernel_time *k = &spec->kernels[i];
                if (strlen(k->name) >= sizeof((struct machine_kernel *)0)->name || !*k->name)
                        return err_set(e, -EINVAL, "kernel name '%.40s…': give 1 to 119 characters",
                                       k->name);
                if (!(k->microseconds >= 0 && k->microseconds <= 1e12))
                        return err_set(e, -EINVAL, "kernel time %g µs of '%s': give 0 to 10^12",
                                       k->microseconds, k->name);
        }
        return 0;
}

/* splitmix64: identities that look random and follow from the seed. */
static uint64_t seed_next(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

static void gpu_identify(struct machine_gpu *gpu, const char *preset, uint64_t seed, unsigned index,
                         unsigned count)
{
        uint64_t state = seed + index * UINT64_C(0x100000001b3);
        for (const char *p = preset; *p; p++)
                state = (state ^ (uint8_t)*p) * UINT64_C(0x100000001b3);

        uint64_t a = seed_next(&state), b = seed_next(&state), c = seed_next(&state);
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%08x-%04x-%04x-%04x-%012llx",
                 (unsigned)(a >> 32), (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xffff,
                 (unsigned)(b >> 48), (unsigned long long)(b & UINT64_C(0xffffffffffff)));
        snprintf(gpu->serial, sizeof gpu->serial, "%013llu",
                 (unsigned long long)(c % UINT64_C(10000000000000)));
        gpu->pci_domain = 0;
        gpu->pci_bus = count == 1 ? 1 : 0x07 + index * 8;
        gpu->pci_device = 0;
        gpu->numa_node = count > 1 ? (int32_t)(index * 2 / count) : 0;
}

static void gpu_link(struct machine_gpu *gpu, const struct preset *preset, unsigned index,
                     unsigned count)
{
        unsigned used = 0;

        for (unsigned i = 0; i < MACHINE_LINKS; i++)
                gpu->link_peer[i] = -2;
        if (count < 2)
                return;
        if (preset->has_switch) {
                for (; used < gpu->link_count && used < MACHINE_LINKS; used++)
                        gpu->link_peer[used] = -1;
                return;
        }
        for (unsigned peer = 0; peer < count; peer++)
                for (unsigned k = 0; peer != index && k < preset->links_per_peer; k++)
                        if (used < gpu->link_count && used < MACHINE_LINKS)
                                gpu->link_peer[used++] = (int32_t)peer;
}

static void gpu_fill(struct machine_header *header, const struct machine_spec *spec, unsigned index)
{
        const struct preset *preset = preset_find(spec->preset);
        struct machine_gpu *gpu = &header->gpus[index];
        struct machine_unit *unit = &header->units[index * MACHINE_UNITS_PER_GPU];

        *gpu = preset->gpu;
        snprintf(gpu->preset, sizeof gpu->preset, "%s", preset->name);
        gpu_identify(gpu, preset->name, header->seed, index, spec->gpu_count);
        gpu_link(gpu, preset, index, spec->gpu_count);
        if (spec->gpu_memory_bytes) {
                gpu->memory_bytes = spec->gpu_memory_bytes + gpu->reserved_bytes;
        }
        if (spec->context_bytes >= 0)
                gpu->context_bytes = (uint64_t)spec->context_bytes;
        *unit = (struct machine_unit){
                .is_active = 1,
                .gpu = index,
                .sm_count = gpu->sm_count,
                .memory_bytes =
                        (gpu->memory_bytes - gpu->reserved_bytes) & ~(MACHINE_GRANULE_BYTES - 1),
        };
}

static void header_fill(struct machine_header *header, const struct machine_spec *spec)
{
        header->version = MACHINE_VERSION;
        header->gpu_count = spec->gpu_count;
        header->file_bytes = sizeof(struct machine_file);
        header->seed = spec->seed;
        if (getrandom(header->id, sizeof header->id, 0) != (ssize_t)sizeof header->id)
                memcpy(header->id, &(uint64_t){ (uint64_t)getpid() }, sizeof(uint64_t));
        while (!header->seed && getrandom(&header->seed, sizeof header->seed, 0) < 0)
                header->seed = (uint64_t)getpid();
        header->time_scale = spec->time_scale;
        header->flags = spec->is_ephemeral ? MACHINE_EPHEMERAL : 0;
        header->driver_version = spec->driver_version;
        atomic_store(&header->release_us, spec->release_us);
        snprintf(header->driver_text, sizeof header->driver_text, "580.95.05");
        header->slice_ns = spec->slice_ns;
        header->launch_ns = spec->launch_ns;
        header->noise = spec->noise;
        header->content_budget_bytes = spec->content_budget_bytes;
        header->interpret_budget = spec->interpret_budget;
        for (size_t i = 0; i < spec->kernel_count; i++) {
                struct machine_kernel *kernel = &header->kernels[i];
                snprintf(kernel->name, sizeof kernel->name, "%s", spec->kernels[i].name);
                kernel->duration_ns = (uint64_t)(spec->kernels[i].microseconds * 1000 + 0.5);
        }
        for (unsigned i = 0; i < spec->gpu_count; i++)
                gpu_fill(header, spec, i);
}

static int file_fill(int fd, const char *path, const struct machine_spec *spec, struct err *e)
{
        if (ftruncate(fd, (off_t)sizeof(struct machine_file)) < 0)
                return err_set(e, -errno, "cannot make machine '%s': %s", path, strerror(errno));
        /* The rest of the file is sparse and taken as processes come; this part must be there. */
        int r = posix_fallocate(fd, 0, (off_t)sizeof(struct machine_header));
        if (r)
                return err_set(e, -r, "cannot make machine '%s': %s", path, strerror(r));

        struct machine_file *file =
                mmap(NULL, sizeof file->header, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map machine '%s': %s", path, strerror(errno));
        header_fill(&file->header, spec);
        machine_boot_reset(file);
        atomic_store_explicit(&file->header.magic, MACHINE_MAGIC, memory_order_release);
        munmap(file, sizeof file->header);
        return 0;
}

/* Gives the finished, nameless file its name: nobody sees half a machine, and one killed while
 * making it leaves nothing. */
static int file_publish(int fd, const char *path, struct err *e)
{
        char self[32];

        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
                return 0;
        if (errno == EEXIST)
                return err_set(e, -EEXIST,
                               "'%s' exists already; choose another path, or remove "
                               "it with 'vgpu sim destroy' if it is a machine",
                               path);
        return err_set(e, -errno, "cannot make machine '%s': %s", path, strerror(errno));
}

int machine_create(const char *path, const struct machine_spec *spec, struct err *e)
{
        int r = spec_check(spec, e);
        if (r < 0)
                return r;

        autofree char *copy = strdup(path);
        if (!copy)
                return err_set(e, -ENOMEM, "out of memory");
        mode_t mode = spec->is_ephemeral ? 0600 : 0666;
        autoclose int fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
        if (fd >= 0) {
                r = file_fill(fd, path, spec, e);
                return r < 0 ? r : file_publish(fd, path, e);
        }
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
                return err_set(e, -errno, "cannot make machine '%s': %s", path, strerror(errno));

        /* A file system without nameless files. */
        fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        if (fd < 0)
                return err_set(e, -errno, "cannot make machine '%s': %s", path, strerror(errno));
        r = file_fill(fd, path, spec, e);
        if (r < 0)
                unlink(path);
        return r;
}
