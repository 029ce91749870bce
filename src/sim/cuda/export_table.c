/* cuGetExportTable: the tables of functions that CUDA runtimes and libraries take from the driver
 * beside its public API. Nothing else in the simulator knows them.
 *
 * A table is an array of words: its size in bytes, then functions. Only the slots below are known
 * to be used; the others answer success and do nothing. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "driver.h"
#include "getproc.h"
#include "md2.h"
#include "module.h"
#include "program.h"
#include "scope.h"
#include "sim_cuda.h"
#include "vec.h"

typedef void (*table_slot)(void);
typedef void (*storage_destructor)(CUcontext context, void *key, void *value);

enum {
        RUNTIME_SLOTS = 20, /* 535 has 11; runtimes since 13.4 use slot 12 */
        BLAS_SLOTS = 77,
        FFT_SLOTS = 88,
        FLAG_BYTES = 64 << 10,
        VERSION_INTERFACE_12_3 = 12030,
};

/* A value that a runtime keeps with a context. */
struct storage {
        struct context *context;
        void *key, *value;
        storage_destructor destructor;
        struct storage *next;
};

/* An image in the program's own memory that the runtime had loaded. */
struct loaded_image {
        const void *image;
        struct module *module;
};

static struct {
        pthread_mutex_t lock;
        struct storage *first;
        struct vec images;                                /* struct loaded_image */
        uint32_t flags[2][FLAG_BYTES / sizeof(uint32_t)]; /* always zero: no tool listens */
} export_table = { .lock = PTHREAD_MUTEX_INITIALIZER, .images = VEC_OF(struct loaded_image) };

static CUresult slot_unused(void)
{
        return CUDA_SUCCESS;
}

/* Modules and contexts for the runtime. */

/* An image that another context has already: the same program, so that its managed variables are
 * the same too. NULL: nobody has it. */
static struct module *image_find(const void *image)
{
        autounlock pthread_mutex_t *held = scope_lock(&export_table.lock);

        for (size_t i = 0; i < export_table.images.count; i++) {
                const struct loaded_image *loaded = vec_at(&export_table.images, i);

                if (loaded->image == image && module_get((CUmodule)loaded->module) &&
                    loaded->module->image == image)
                        return loaded->module;
        }
        return NULL;
}

/* Without memory to remember it, the next context parses it again. */
static void image_remember(const void *image, struct module *module)
{
        autounlock pthread_mutex_t *held = scope_lock(&export_table.lock);
        const struct loaded_image entry = { image, module };

        module->image = image;
        for (size_t i = 0; i < export_table.images.count; i++) {
                struct loaded_image *loaded = vec_at(&export_table.images, i);

                if (loaded->image == image) {
                        *loaded = entry;
                        return;
                }
        }
        vec_push(&export_table.images, &entry);
}

static CUresult load_image(CUmodule *ret_module, const void *image)
{
        struct context *context;
        struct module *module, *twin;
        struct jit jit = { 0 };

        if (!image || !ret_module)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        twin = image_find(image);
        r = twin ? module_new(context, twin->program, NULL, NULL, &module)
                 : module_load(context, image, 0, &jit, &module);
        if (r != CUDA_SUCCESS)
                return r;
        image_remember(image, module);
        *ret_module = (CUmodule)module;
        return CUDA_SUCCESS;
}

static CUresult slot_load_wrapper(CUmodule *ret_module, const void *wrapper)
{
        return load_image(ret_module, wrapper);
}

static CUresult slot_load_wrapper_extended(CUmodule *ret_module, const void *wrapper, void *a,
                                           void *b, void *c)
{
        (void)a, (void)b, (void)c;
        return load_image(ret_module, wrapper);
}

static CUresult slot_load_header(const void *header, CUmodule *ret_module, void *a, void *b,
                                 void *c)
{
        (void)a, (void)b, (void)c;
        return load_image(ret_module, header);
}

/* The primary context without retaining it: the pointer that retaining will give. */
static CUresult slot_primary_context(CUcontext *ret_context, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);
        struct context *context;

        if (!ret_context)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        context = context_primary(device);
        if (!context)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret_context = (CUcontext)context;
        return CUDA_SUCCESS;
}

static const table_slot runtime_table[RUNTIME_SLOTS] = {
        (table_slot)sizeof runtime_table,
        [1] = (table_slot)slot_load_wrapper,
        [2] = (table_slot)slot_primary_context,
        [3 ... 5] = (table_slot)slot_unused,
        [6] = (table_slot)slot_load_wrapper_extended,
        [7] = (table_slot)slot_unused,
        [8] = (table_slot)slot_load_header,
        [9 ... RUNTIME_SLOTS - 1] = (table_slot)slot_unused,
};

/* Tools: arrays of flags that say which calls a profiler wants to hear of. */

static CUresult slot_flags_first(void **ret_flags, size_t *ret_size)
{
        *ret_flags = export_table.flags[0];
        *ret_size = FLAG_BYTES;
        return CUDA_SUCCESS;
}

static CUresult slot_flags_second(void **ret_flags, size_t *ret_size)
{
        *ret_flags = export_table.flags[1];
        *ret_size = FLAG_BYTES;
        return CUDA_SUCCESS;
}

static const table_slot tools_table[7] = {
        (table_slot)sizeof tools_table,      [1] = (table_slot)slot_unused,
        [2] = (table_slot)slot_flags_first,  [3 ... 5] = (table_slot)slot_unused,
        [6] = (table_slot)slot_flags_second,
};

static CUresult slot_nothing(void **ret_pointer)
{
        if (ret_pointer)
                *ret_pointer = NULL;
        return CUDA_SUCCESS;
}

static const table_slot thread_table[3] = {
        (table_slot)sizeof thread_table,
        [1] = (table_slot)slot_unused,
        [2] = (table_slot)slot_nothing,
};

/* Context-local storage. This table has no size word. */

static struct storage **storage_find(const struct context *context, const void *key)
{
        struct storage **place = &export_table.first;

        while (*place && ((*place)->context != context || (*place)->key != key))
                place = &(*place)->next;
        return place;
}

static struct context *storage_context(CUcontext handle)
{
        return handle ? context_get(handle) : context_current();
}

static CUresult slot_storage_put(CUcontext handle, void *key, void *value,
                                 storage_destructor destructor)
{
        struct context *context = storage_context(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;

        autounlock pthread_mutex_t *held = scope_lock(&export_table.lock);
        struct storage **place = storage_find(context, key);

        if (!*place) {
                *place = calloc(1, sizeof **place);
                if (!*place)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                (*place)->context = context;
                (*place)->key = key;
        }
        (*place)->value = value;
        (*place)->destructor = destructor;
        return CUDA_SUCCESS;
}

static CUresult slot_storage_delete(CUcontext handle, void *key)
{
        struct context *context = storage_context(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;

        autounlock pthread_mutex_t *held = scope_lock(&export_table.lock);
        struct storage **place = storage_find(context, key), *gone = *place;

        if (!gone)
                return CUDA_ERROR_INVALID_HANDLE;
        *place = gone->next;
        free(gone);
        return CUDA_SUCCESS;
}

static CUresult slot_storage_get(void **ret_value, CUcontext handle, void *key)
{
        struct context *context = storage_context(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;

        autounlock pthread_mutex_t *held = scope_lock(&export_table.lock);
        struct storage *storage = *storage_find(context, key);

        if (!storage)
                return CUDA_ERROR_INVALID_HANDLE;
        *ret_value = storage->value;
        return CUDA_SUCCESS;
}

static const table_slot storage_table[4] = {
        (table_slot)slot_storage_put,
        (table_slot)slot_storage_delete,
        (table_slot)slot_storage_get,
};

static struct storage *storage_take(const struct context *context)
{
        autounlock pthread_mutex_t *held = scope_lock(&export_table.lock);
        struct storage **place = &export_table.first, *taken;

        while (*place && (*place)->context != context)
                place = &(*place)->next;
        taken = *place;
        if (taken)
                *place = taken->next;
        return taken;
}

/* The destructors call back into the driver: no lock is held. */
void export_table_context_done(struct context *context)
{
        struct storage *storage;

        while ((storage = storage_take(context))) {
                if (storage->destructor)
                        storage->destructor((CUcontext)context, storage->key, storage->value);
                free(storage);
        }
}

/* Asked by runtimes since 12.3. */

static CUresult slot_interface_state(CUcontext context, uint32_t *ret_state, void **ret_pointer)
{
        (void)context;
        if (ret_state)
                *ret_state = 0;
        return slot_nothing(ret_pointer);
}

static const table_slot interface_table[4] = {
        (table_slot)sizeof interface_table,
        [1] = (table_slot)slot_unused,
        [2] = (table_slot)slot_interface_state,
        [3] = (table_slot)slot_unused,
};

/* The runtime makes sure that it talks to the driver: both compute a keyed digest over what they
 * know of the process, the tables and the devices. */

static CUresult slot_integrity(uint32_t version, uint64_t unix_seconds, uint64_t ret_digest[2]);

static const table_slot integrity_table[3] = {
        (table_slot)sizeof integrity_table,
        [1] = (table_slot)slot_integrity,
        [2] = (table_slot)slot_unused,
};

static void digest_add_devices(struct md2 *md2)
{
        static const CUdevice_attribute place[3] = {
                CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
                CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
        };

        for (int ordinal = 0; ordinal < driver.device_count; ordinal++) {
                CUuuid uuid = { { 0 } };
                int32_t pci[3] = { 0 };

                sim_cuDeviceGetUuid(&uuid, ordinal);
                for (unsigned i = 0; i < 3; i++)
                        sim_cuDeviceGetAttribute(&pci[i], place[i], ordinal);
                md2_add(md2, &uuid, sizeof uuid);
                md2_add(md2, pci, sizeof pci);
        }
}

static CUresult slot_integrity(uint32_t version, uint64_t unix_seconds, uint64_t ret_digest[2])
{
        static const uint8_t key[MD2_BYTES] = { 0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                                0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f };
        const struct {
                uint32_t driver_version, version, process, thread;
                const void *runtime, *integrity, *function;
                uint64_t unix_seconds;
        } facts = {
                .driver_version = driver_version(),
                .version = version,
                .process = (uint32_t)getpid(),
                .thread = (uint32_t)pthread_self(),
                .runtime = runtime_table,
                .integrity = integrity_table,
                .function = (const void *)integrity_table[1],
                .unix_seconds = unix_seconds,
        };
        struct md2 md2;

        if (version % 10 < 2) { /* the first two forms of the check: constants */
                ret_digest[0] = version % 10 == 0 ? 0x3341181c03cb675c : 0x1841181c03cb675c;
                ret_digest[1] = 0x8ed383aa1f4cd1e8;
                return CUDA_SUCCESS;
        }
        md2_keyed_init(&md2, key);
        md2_add(&md2, &facts, sizeof facts);
        digest_add_devices(&md2);
        md2_keyed_done(&md2, key, (uint8_t *)ret_digest);
        return CUDA_SUCCESS;
}

/* cuBLAS refuses every multiplication without it. */

static CUresult slot_blas(uintptr_t zero, void **ret_pointer)
{
        (void)zero;
        return slot_nothing(ret_pointer);
}

static const table_slot blas_table[BLAS_SLOTS] = {
        (table_slot)sizeof blas_table,
        [1 ... 3] = (table_slot)slot_unused,
        [4] = (table_slot)slot_blas,
        [5 ... BLAS_SLOTS - 1] = (table_slot)slot_unused,
};

/* cuFFT finds the kernel of a module that has one only: the callback gets every function, the
 * answer is their number. */

static unsigned slot_each_function(CUcontext context, CUmodule handle,
                                   void (*callback)(void *closure, CUfunction function),
                                   void *closure)
{
        const struct module *module = module_get(handle);

        (void)context;
        if (!module)
                return 0;
        for (size_t i = 0; i < module->program->kernel_count; i++)
                callback(closure, (CUfunction)module->functions[i]);
        return (unsigned)module->program->kernel_count;
}

static const table_slot fft_table[FFT_SLOTS] = {
        (table_slot)sizeof fft_table,
        [1 ... 6] = (table_slot)slot_unused,
        [7] = (table_slot)slot_each_function,
        [8 ... FFT_SLOTS - 1] = (table_slot)slot_unused,
};

static const struct {
        uint8_t id[16];
        const table_slot *table;
        unsigned since; /* driver version */
} tables[] = {
        { { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd,
            0x9d, 0xf9 },
          runtime_table,
          0 },
        { { 0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c,
            0x0a, 0x66 },
          tools_table,
          0 },
        { { 0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a,
            0xec, 0xdc },
          thread_table,
          0 },
        { { 0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8,
            0x95, 0x93 },
          storage_table,
          0 },
        { { 0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d,
            0xfa, 0x7e },
          interface_table,
          VERSION_INTERFACE_12_3 },
        { { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66,
            0xe1, 0xf2 },
          integrity_table,
          0 },
        { { 0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24,
            0xc8, 0xf2 },
          blas_table,
          0 },
        { { 0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1,
            0x99, 0x1e },
          fft_table,
          0 },
};

CUresult sim_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
        if (!ppExportTable || !pExportTableId)
                return CUDA_ERROR_INVALID_VALUE;
        *ppExportTable = NULL;
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
                if (memcmp(tables[i].id, pExportTableId, sizeof tables[i].id) != 0)
                        continue;
                if (driver_version() < tables[i].since)
                        break;
                *ppExportTable = tables[i].table;
                return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_VALUE;
}
