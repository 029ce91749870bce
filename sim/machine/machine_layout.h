/* SPDX-License-Identifier: Apache-2.0 */
/* The machine file: what every process that uses one simulated machine maps and agrees on.
 *
 * Rules that keep it right when a process dies at any instruction:
 *   - every lock is a robust mutex; whoever inherits one repairs what it guards (see each field);
 *   - a process owns its slot through `life`, a robust mutex that one of its threads, `owner`, holds
 *     as long as it lives: death is noticed by the kernel, across pid namespaces, without a signal;
 *   - what a process holds is written in its slot; totals are sums that can be made again;
 *   - the time step of a unit is a redo journal: applied twice, it gives the same state. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        MACHINE_VERSION = 2,
        MACHINE_GPUS = 16,
        MACHINE_UNITS_PER_GPU = 8, /* 0: the whole GPU, 1…7: MIG GPU instances */
        MACHINE_UNITS = MACHINE_GPUS * MACHINE_UNITS_PER_GPU,
        MACHINE_SLOTS = 4096,
        MACHINE_CHANNELS = 8192,
        MACHINE_RING = 512, /* operations in flight per queue; the next one waits */
        MACHINE_DEPS = 4,
        MACHINE_KERNELS = 128,
        MACHINE_FAULTS = 32,
        MACHINE_EVENTS = 64,
        MACHINE_EXPORTS = 4096,
        MACHINE_BUCKETS = 64, /* utilisation history: 64 × 20 ms */
        MACHINE_LINKS = 18,
        MACHINE_JOURNAL = 64,
};

#define MACHINE_MAGIC         UINT64_C(0x006d697375706776) /* "vgpusim" */
#define MACHINE_BUCKET_NS     UINT64_C(20000000)
#define MACHINE_NS_UNKNOWN    UINT64_MAX
#define MACHINE_GRANULE_BYTES (UINT64_C(2) << 20)

/* The queues of a channel. HOST holds callbacks: the process itself ends them. */
enum machine_engine { ENGINE_COMPUTE, ENGINE_IN, ENGINE_OUT, ENGINE_HOST, ENGINE_COUNT };

/* One piece of work on the time axis. Simulated nanoseconds since the machine's epoch. */
struct machine_op {
        uint64_t ready_ns;             /* not before */
        _Atomic uint64_t remaining_ns; /* MACHINE_NS_UNKNOWN until its process has found out */
        uint64_t start_ns;             /* 0 until it first runs */
        _Atomic uint64_t end_ns;       /* 0 until it is complete */
        uint64_t deps[MACHINE_DEPS];   /* machine_ref; 0: none */
};
static_assert(sizeof(struct machine_op) == 64, "one cache line");

struct machine_queue {
        _Atomic uint64_t head; /* first sequence number that is not complete */
        _Atomic uint64_t tail; /* next sequence number; written by the owner alone */
        uint64_t reserved[6];
        struct machine_op ops[MACHINE_RING];
};

struct machine_bucket {
        uint64_t index; /* time / MACHINE_BUCKET_NS */
        uint64_t busy_ns;
};

/* The work of one process on one unit. Free when `slot` is 0. */
struct machine_channel {
        _Atomic uint32_t slot; /* slot index + 1 */
        uint32_t unit;
        _Atomic uint64_t sources[MACHINE_UNITS / 64]; /* other units whose work it has waited for */
        uint64_t reserved[5];
        uint64_t busy_ns[ENGINE_COUNT];
        struct machine_bucket buckets[MACHINE_BUCKETS]; /* compute engine */
        struct machine_queue queues[ENGINE_COUNT];
};

/* Which of the driver's lists of processes has it. */
enum machine_list { MACHINE_LIST_COMPUTE, MACHINE_LIST_GRAPHICS, MACHINE_LIST_MPS };

struct machine_slot_unit {
        uint64_t device_bytes;  /* allocations and contexts, as the GPU counts them */
        uint64_t managed_bytes; /* managed memory now on the GPU; others may evict it */
        uint32_t contexts;
        uint32_t channel;       /* channel index + 1, 0: none */
        uint64_t context_bytes; /* the part of device_bytes that contexts take */
        uint32_t computes;      /* MIG compute instances it has had contexts on, bits */
        uint32_t list;          /* enum machine_list */
};

/* One process. Everything but `life` is meaningful only while `state` is not FREE. DYING: it is gone, and
 * what it held is being freed, its memory at freed_ns. */
enum { SLOT_FREE, SLOT_LIVE, SLOT_DYING };
struct machine_slot {
        pthread_mutex_t life;
        _Atomic uint32_t state;
        int32_t pid; /* as the process sees itself */
        uint64_t pid_namespace;
        uint64_t start_time; /* of the process, clock ticks since boot */
        uint64_t attach_ns;
        _Atomic uint64_t content_bytes; /* host memory that holds this process's device contents */
        uint64_t launches;
        char path[244];
        uint32_t
                owner; /* as `life` names it: whoever cleans up holds `life` under another number */
        uint64_t freed_ns; /* monotonic clock */
        struct machine_slot_unit units[MACHINE_UNITS];
};

struct machine_engine_state {
        uint64_t current; /* channel index + 1 that has the engine, 0: none */
        uint64_t slice_end_ns;
        uint64_t busy_ns;
        struct machine_bucket buckets[MACHINE_BUCKETS];
};

/* New values of words of the file. `count` ≠ 0: apply them all (again), then clear it. */
struct machine_journal {
        _Atomic uint64_t count;
        struct {
                uint64_t offset, value;
        } words[MACHINE_JOURNAL];
};

/* What processes share on a GPU: a memory and the engines. */
struct machine_unit {
        uint32_t is_active; /* 0: no such instance */
        uint32_t gpu;
        uint32_t sm_count;
        uint32_t kept_rows;    /* exports here that references keep without their maker */
        uint64_t memory_bytes; /* all that programs can have */
        /* Guards used_bytes, kept_rows, every slot's bytes on this unit, and whose its EXPORT_HANDLE
         * rows are. Heir: used = sum over slots and kept rows. */
        pthread_mutex_t memory_lock;
        uint64_t used_bytes;
        uint64_t outsider_bytes; /* memory taken by `vgpu sim inject` */
        uint64_t evicted_bytes;  /* managed memory pushed out, ever */
        /* Guards what follows and the queues' heads. Heir: replay the journal. */
        pthread_mutex_t time_lock;
        uint64_t clock_ns; /* simulated up to here */
        struct machine_engine_state engines[ENGINE_COUNT];
        struct machine_journal journal;
        _Atomic uint64_t active[MACHINE_CHANNELS / 64]; /* channels that may have work */
};

/* MIG. The profile is a row of the preset's table (mig.h). */
struct machine_compute_instance {
        uint32_t is_used, id, profile, slices;
        uint32_t start, reserved; /* start: compute slice */
        char uuid[48];
};
struct machine_gpu_instance {
        uint32_t is_used, id, profile, start, size; /* start, size: memory slices */
        uint32_t slices;                            /* compute slices */
        uint32_t unit;                              /* index into units[] */
        uint32_t reserved;
        struct machine_compute_instance compute[7];
};

/* For those who read without the lock: of an instance in use all the rest is there. */
static inline bool machine_mig_is_used(const uint32_t *is_used)
{
        return __atomic_load_n(is_used, __ATOMIC_ACQUIRE);
}

enum { AUTO_BOOST_NOW = 1, AUTO_BOOST_DEFAULT = 2 };

struct machine_gpu {
        char name[96];
        char preset[32];
        char uuid[48]; /* GPU-xxxxxxxx-… */
        char serial[32];
        uint32_t brand;        /* nvmlBrandType_t */
        uint32_t architecture; /* nvmlDeviceArchitecture_t */
        uint32_t pci_domain, pci_bus, pci_device;
        uint32_t pci_device_id, pci_subsystem_id;
        int32_t numa_node;
        uint32_t capability_major, capability_minor;
        uint32_t sm_count;
        uint32_t cores_per_sm;
        uint32_t threads_per_sm, blocks_per_sm;
        uint32_t shared_per_sm_bytes, shared_per_block_optin_bytes;
        uint32_t l2_bytes;
        uint32_t memory_bus_bits;
        uint32_t sm_clock_mhz, memory_clock_mhz, video_clock_mhz;
        uint32_t power_limit_mw, power_idle_mw;
        uint32_t temperature_c;
        uint32_t pcie_generation, pcie_width;
        uint32_t copy_engines;
        uint64_t memory_bytes;   /* what NVML calls total */
        uint64_t reserved_bytes; /* taken by firmware and driver; total = used + free + this */
        uint64_t bar1_bytes;
        uint64_t context_bytes;
        uint64_t in_bytes_per_s, out_bytes_per_s; /* host link */
        uint64_t memory_bytes_per_s;
        uint64_t fault_bytes_per_s, prefetch_bytes_per_s; /* managed memory */
        uint32_t has_ecc, has_mig, has_fan;
        uint32_t link_count;              /* NVLink */
        int32_t link_peer[MACHINE_LINKS]; /* GPU index at the other end, −1: switch, −2: none */
        /* State. */
        uint32_t persistence_mode, compute_mode;
        uint32_t mig_mode, mig_mode_pending;
        uint32_t is_ecc_off, is_ecc_off_pending, accounting_mode;
        uint32_t application_sm_mhz, application_memory_mhz; /* 0: the default */
        uint32_t locked_sm_mhz;                              /* 0: not locked */
        _Atomic uint32_t is_lost;
        uint32_t auto_boost_off; /* AUTO_BOOST bits */
        _Atomic uint64_t ecc_corrected, ecc_uncorrected;
        struct machine_gpu_instance instances[7];
};

struct machine_kernel { /* `--kernel NAME=MICROSECONDS` */
        char name[120];
        uint64_t duration_ns;
};

enum { FAULT_NONE, FAULT_FAIL, FAULT_HANG };
struct machine_fault {
        _Atomic uint32_t kind;
        int32_t result;             /* CUresult or nvmlReturn_t */
        _Atomic uint32_t remaining; /* calls; UINT32_MAX: until cleared */
        uint32_t reserved;
        char function[112];
};

struct machine_event {   /* a ring; number = events_next − … */
        uint64_t type;   /* nvmlEventType bit */
        uint64_t detail; /* the Xid */
        uint32_t gpu, gpu_instance, compute_instance, reserved;
        uint64_t time_ns;
};

/* Memory that other processes may map. */
enum { EXPORT_FREE, EXPORT_MEMORY, EXPORT_HANDLE, EXPORT_POOL, EXPORT_EVENT, EXPORT_FILE };
struct machine_export {
        uint32_t kind;
        uint32_t slot; /* the exporter's, index + 1; 0: a handle that references keep without it */
        uint32_t unit;
        uint32_t references;
        uint64_t number; /* unique for the life of the machine */
        uint64_t bytes;
        uint64_t inode;     /* of the file that holds the contents */
        uint64_t detail[4]; /* of a handle: its CUmemAllocationProp */
};

/* What the simulator could not do, and how much it did. */
enum machine_counter {
        COUNTER_LAUNCHES,
        COUNTER_INTERPRETED,
        COUNTER_TIMED_ONLY, /* no PTX, an unknown instruction, or over the budget */
        COUNTER_OVER_BUDGET,
        COUNTER_CONTENT_DROPPED_BYTES,
        COUNTER_UNSUPPORTED_CALLS,
        COUNTER_REAPED, /* processes that died attached */
        COUNTER_COPIED_BYTES,
        COUNTER_COUNT = 16,
};

enum { MACHINE_EPHEMERAL = 1 };

struct machine_header {
        _Atomic uint64_t magic; /* written last */
        uint32_t version;
        uint32_t gpu_count;
        uint64_t file_bytes;
        uint64_t seed;
        uint8_t id[16];      /* random: two machines never share state */
        uint8_t boot_id[16]; /* of the boot that epoch_ns and the locks belong to */
        uint64_t epoch_ns;   /* CLOCK_MONOTONIC at time 0 */
        double time_scale;   /* simulated seconds per second */
        uint32_t flags;
        uint32_t driver_version; /* cuDriverGetVersion, e.g. 13000 */
        char driver_text[32];    /* nvmlSystemGetDriverVersion */
        uint64_t slice_ns;
        uint64_t launch_ns; /* from launch to start on an idle GPU */
        double noise;       /* log-normal sigma of kernel times, 0: none */
        uint64_t content_budget_bytes;
        uint64_t interpret_budget;  /* instructions per launch */
        _Atomic uint32_t attention; /* ≠ 0: calls must check faults and lost GPUs */
        _Atomic uint32_t events_futex;
        /* Guards the tables below, slots_high, MIG and modes. Every change is a single word or is
         * made visible by one: the heir has nothing to repair. */
        pthread_mutex_t lock;
        _Atomic uint64_t events_next;
        _Atomic uint64_t exports_next;
        _Atomic uint32_t slots_high; /* slots ever used: their `life` is initialised */
        _Atomic uint32_t channels_high;
        _Atomic uint32_t exports_high;
        _Atomic uint32_t release_us; /* so long a dead process's memory stays, in real time */
        _Atomic uint64_t counters[COUNTER_COUNT];
        struct machine_kernel kernels[MACHINE_KERNELS];
        struct machine_fault faults[MACHINE_FAULTS];
        struct machine_event events[MACHINE_EVENTS];
        struct machine_gpu gpus[MACHINE_GPUS];
        struct machine_unit units[MACHINE_UNITS];
};

/* The file: header, exports, slots, channels; sparse. */
struct machine_file {
        struct machine_header header;
        struct machine_export exports[MACHINE_EXPORTS];
        struct machine_slot slots[MACHINE_SLOTS];
        struct machine_channel channels[MACHINE_CHANNELS];
};
