/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetExportTable: the tables of functions that CUDA runtimes and libraries take from the driver
 * beside its public API. Nothing else in the simulator knows them.
 *
 * A table is an array of words: its size in bytes, then functions. Only the slots below are known
 * to be used; the others answer success and do nothing. */
#include <pthread.h>
#include <string.h>

#include "context.h"
#include "context_life.h"
#include "driver.h"
#include "export_slot.h"
#include "getproc.h"
#include "module.h"
#include "program.h"
#include "scope.h"
#include "sim_cuda.h"
#include "vec.h"

enum {
        BLAS_SLOTS = 77,
        FFT_SLOTS = 88,
        FLAG_BYTES = 64 << 10,
        VERSION_INTERFACE_12_3 = 12030,
};

/* An image in the program's own memory that the runtime had loaded. */
struct loaded_image {
        const void *image;
        struct module *module;
};

static struct {
        pthread_mutex_t lock;
        struct vec images;                                /* struct loaded_image */
        uint32_t flags[2][FLAG_BYTES / sizeof(uint32_t)]; /* always zero: no tool listens */
} export_table = { .lock = PTHREAD_MUTEX_INITIALIZER, .images = VEC_OF(struct loaded_image) };

CUresult export_slot_unused(void)
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

const table_slot export_runtime_table[RUNTIME_SLOTS] = {
        (table_slot)sizeof export_runtime_table,
        [1] = (table_slot)slot_load_wrapper,
        [2] = (table_slot)slot_primary_context,
        [3 ... 5] = (table_slot)export_slot_unused,
        [6] = (table_slot)slot_load_wrapper_extended,
        [7] = (table_slot)export_slot_unused,
        [8] = (table_slot)slot_load_header,
        [9 ... RUNTIME_SLOTS - 1] = (table_slot)export_slot_unused,
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
        (table_slot)sizeof tools_table,      [1] = (table_slot)export_slot_unused,
        [2] = (table_slot)slot_flags_first,  [3 ... 5] = (table_slot)export_slot_unused,
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
        [1] = (table_slot)export_slot_unused,
        [2] = (table_slot)slot_nothing,
};

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
        [1] = (table_slot)export_slot_unused,
        [2] = (table_slot)slot_interface_state,
        [3] = (table_slot)export_slot_unused,
};

/* cuBLAS refuses every multiplication without it. */

static CUresult slot_blas(uintptr_t zero, void **ret_pointer)
{
        (void)zero;
        return slot_nothing(ret_pointer);
}

static const table_slot blas_table[BLAS_SLOTS] = {
        (table_slot)sizeof blas_table,
        [1 ... 3] = (table_slot)export_slot_unused,
        [4] = (table_slot)slot_blas,
        [5 ... BLAS_SLOTS - 1] = (table_slot)export_slot_unused,
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
        [1 ... 6] = (table_slot)export_slot_unused,
        [7] = (table_slot)slot_each_function,
        [8 ... FFT_SLOTS - 1] = (table_slot)export_slot_unused,
};

static const struct {
        uint8_t id[16];
        const table_slot *table;
        unsigned since; /* driver version */
} tables[] = {
        { { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd,
            0x9d, 0xf9 },
          export_runtime_table,
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
          export_storage_table,
          0 },
        { { 0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d,
            0xfa, 0x7e },
          interface_table,
          VERSION_INTERFACE_12_3 },
        { { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66,
            0xe1, 0xf2 },
          export_integrity_table,
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
