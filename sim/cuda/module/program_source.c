/* SPDX-License-Identifier: Apache-2.0 */
/* Takes images apart: linked containers, PTX text, fat binaries, machine code. */
#include "program_source.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "container.h"
#include "fatbin.h"
#include "getproc.h"
#include "machine_layout.h"
#include "ptx.h"
#include "scope.h"
#include "vec.h"

enum { NESTING_MAX = 3, TEXT_PROBE_BYTES = 64 << 10, WRAPPER_LINKED = 2 };

#define WRAPPER_MAGIC UINT32_C(0x466243b1)

struct program_source {
        struct vec texts;  /* struct ptx_text; the bytes are ours */
        struct vec images; /* struct fatbin: the parts that are not bare PTX */
        /* Guards the module that the next context can have without parsing. */
        pthread_mutex_t lock;
        struct ptx_module *spare;
};

struct program_source *program_source_new(void)
{
        struct program_source *source = calloc(1, sizeof *source);

        if (!source)
                return NULL;
        source->texts = (struct vec)VEC_OF(struct ptx_text);
        source->images = (struct vec)VEC_OF(struct fatbin);
        pthread_mutex_init(&source->lock, NULL);
        return source;
}

void program_source_free(struct program_source *source)
{
        if (!source)
                return;
        for (size_t i = 0; i < source->texts.count; i++)
                free((void *)((struct ptx_text *)vec_at(&source->texts, i))->text);
        for (size_t i = 0; i < source->images.count; i++)
                fatbin_done(vec_at(&source->images, i));
        vec_done(&source->texts);
        vec_done(&source->images);
        ptx_module_free(source->spare);
        pthread_mutex_destroy(&source->lock);
        free(source);
}

static CUresult text_add(struct program_source *source, const char *text, size_t length)
{
        autofree char *copy = malloc(length + 1);
        struct ptx_text entry = { copy, length };

        if (!copy)
                return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(copy, text, length);
        copy[length] = '\0';
        if (vec_push(&source->texts, &entry) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        (void)steal(copy);
        return CUDA_SUCCESS;
}

/* PTX is the only image that begins with printable text. */
static bool image_is_text(const unsigned char *image, size_t bytes)
{
        size_t limit = bytes ? bytes : TEXT_PROBE_BYTES, i = 0;

        while (i < limit && isspace(image[i]))
                i++;
        return i < limit && (image[i] == '.' || image[i] == '/');
}

static unsigned capability(const struct machine_gpu *gpu)
{
        return gpu->capability_major * 10 + gpu->capability_minor;
}

/* Machine code is never run, so that of any device will do; PTX must not be too new. */
static CUresult fatbin_add(struct program_source *source, const void *image, size_t bytes,
                           const struct machine_gpu *gpu, struct err *e)
{
        struct fatbin fatbin = { 0 };
        int r = fatbin_read(image, bytes, capability(gpu), &fatbin, e);

        if (r < 0)
                return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        if (!fatbin.ptx && !fatbin.has_elf && fatbin.least_sm > 0) {
                err_set(e, -EINVAL, "the image is for sm_%u and newer, the device is sm_%u",
                        fatbin.least_sm, capability(gpu));
                fatbin_done(&fatbin);
                return CUDA_ERROR_NO_BINARY_FOR_GPU;
        }

        CUresult result =
                fatbin.ptx ? text_add(source, fatbin.ptx, fatbin.ptx_length) : CUDA_SUCCESS;

        free(fatbin.ptx);
        fatbin.ptx = NULL;
        if (result == CUDA_SUCCESS && vec_push(&source->images, &fatbin) < 0)
                result = CUDA_ERROR_OUT_OF_MEMORY;
        if (result != CUDA_SUCCESS)
                fatbin_done(&fatbin);
        return result;
}

/* What nvcc puts around a fat binary. Separately compiled programs have an empty one and a list,
 * ended by NULL, of those that the driver is to link. */
struct wrapper {
        uint32_t magic, version;
        const void *image;
        const void *const *list;
};
static_assert(sizeof(struct wrapper) == 24, "made by nvcc");

static const void *const *wrapper_list(const void *image, size_t bytes)
{
        struct wrapper wrapper;

        if (bytes > 0) /* a file: its addresses mean nothing */
                return NULL;
        memcpy(&wrapper.magic, image, sizeof wrapper.magic);
        if (wrapper.magic != WRAPPER_MAGIC)
                return NULL;
        memcpy(&wrapper, image, sizeof wrapper);
        return wrapper.version == WRAPPER_LINKED ? wrapper.list : NULL;
}

/* Libraries among the parts may have nothing for this device: then nothing needs them. */
static CUresult list_add(struct program_source *source, const void *const *list,
                         const struct machine_gpu *gpu, struct err *e)
{
        CUresult r = CUDA_SUCCESS;

        for (; *list && r == CUDA_SUCCESS; list++) {
                r = fatbin_add(source, *list, 0, gpu, e);
                if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
                        r = CUDA_SUCCESS;
        }
        return r;
}

static CUresult image_add(struct program_source *source, const void *image, size_t bytes,
                          const struct machine_gpu *gpu, unsigned depth, struct err *e);

static CUresult container_add(struct program_source *source, const void *image, size_t bytes,
                              const struct machine_gpu *gpu, unsigned depth, struct err *e)
{
        int count = container_count(image, bytes);
        CUresult r = CUDA_SUCCESS;

        if (count < 0) {
                err_set(e, count, "the linked image is damaged");
                return CUDA_ERROR_INVALID_IMAGE;
        }
        for (int i = 0; r == CUDA_SUCCESS && i < count; i++) {
                struct container_part part;

                container_part(image, (unsigned)i, &part);
                if (part.length == 0)
                        continue;
                r = part.is_ptx ? text_add(source, part.bytes, part.length)
                                : image_add(source, part.bytes, part.length, gpu, depth + 1, e);
        }
        return r;
}

static CUresult image_add(struct program_source *source, const void *image, size_t bytes,
                          const struct machine_gpu *gpu, unsigned depth, struct err *e)
{
        if (depth > NESTING_MAX) {
                err_set(e, -EINVAL, "the linked image is nested too deeply");
                return CUDA_ERROR_INVALID_IMAGE;
        }
        if (image_is_text(image, bytes))
                return text_add(source, image, bytes ? bytes : strlen(image));
        if (container_is(image, bytes))
                return container_add(source, image, bytes, gpu, depth, e);

        const void *const *list = wrapper_list(image, bytes);
        CUresult r = fatbin_add(source, image, bytes, gpu, e);

        return r == CUDA_SUCCESS && list ? list_add(source, list, gpu, e) : r;
}

CUresult program_source_read(struct program_source *source, const void *image, size_t bytes,
                             const struct machine_gpu *gpu, struct err *e)
{
        return image_add(source, image, bytes, gpu, 0, e);
}

/* The newest PTX that the driver's compiler knows: 8.8 came with 12.9, 9.0 with 13.0. */
static unsigned ptx_version_limit(void)
{
        static const unsigned of_12[] = { 80, 81, 82, 83, 84, 85, 85, 86, 87, 88 };
        unsigned version = driver_version(), minor = version % 1000 / 10;

        if (version >= 13000)
                return 90 + minor;
        if (version >= 12000)
                return of_12[minor < 10 ? minor : 9];
        return 70 + minor;
}

static CUresult ptx_check(const struct ptx_module *ptx, const struct machine_gpu *gpu,
                          struct err *e)
{
        unsigned device = capability(gpu);
        unsigned version = ptx_module_ptx_version(ptx), target = ptx_module_target_sm(ptx);

        if (version > ptx_version_limit()) {
                err_set(e, -EINVAL, "PTX %u.%u is newer than this driver's compiler", version / 10,
                        version % 10);
                return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
        }
        if (target > device) {
                err_set(e, -EINVAL, "the PTX is for sm_%u, the device is sm_%u", target, device);
                return CUDA_ERROR_NO_BINARY_FOR_GPU;
        }
        return CUDA_SUCCESS;
}

static CUresult texts_parse(struct program_source *source, struct ptx_module **ret_ptx,
                            struct err *e)
{
        const struct ptx_text *texts = source->texts.items;
        int r = source->texts.count == 1
                        ? ptx_module_new(texts[0].text, texts[0].length, ret_ptx, e)
                        : ptx_module_link(texts, source->texts.count, ret_ptx, e);

        if (r == 0)
                return CUDA_SUCCESS;
        return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

CUresult program_source_parse(struct program_source *source, const struct machine_gpu *gpu,
                              struct ptx_module **ret_ptx, struct err *e)
{
        struct ptx_module *ptx = NULL;

        if (source->texts.count == 0) {
                *ret_ptx = NULL;
                return CUDA_SUCCESS;
        }

        CUresult r = texts_parse(source, &ptx, e);

        if (r == CUDA_SUCCESS)
                r = ptx_check(ptx, gpu, e);
        if (r == CUDA_SUCCESS)
                *ret_ptx = ptx;
        else
                ptx_module_free(ptx);
        return r;
}

int program_source_gather(struct program_source *source, struct program *program)
{
        int r = 0;

        for (size_t i = 0; i < source->texts.count; i++)
                program->code_bytes += ((struct ptx_text *)vec_at(&source->texts, i))->length;
        for (size_t i = 0; r == 0 && i < source->images.count; i++) {
                const struct fatbin *fatbin = vec_at(&source->images, i);

                if (fatbin->has_elf)
                        program->binary_version = fatbin->elf_sm;
                for (size_t k = 0; r == 0 && k < fatbin->kernel_count; k++)
                        r = program_add_kernel(program, &fatbin->kernels[k]);
                for (size_t k = 0; r == 0 && k < fatbin->variable_count; k++)
                        r = program_add_variable(program, &fatbin->variables[k]);
        }
        return r;
}

/* A module knows the addresses of one context's variables: every context needs its own. */
CUresult program_take_ptx(struct program *program, struct ptx_module **ret_ptx)
{
        struct program_source *source = program->source;
        struct err e;

        pthread_mutex_lock(&source->lock);
        *ret_ptx = steal(source->spare);
        pthread_mutex_unlock(&source->lock);
        if (*ret_ptx || source->texts.count == 0)
                return CUDA_SUCCESS;
        return texts_parse(source, ret_ptx, &e);
}

void program_give_ptx(struct program *program, struct ptx_module *ptx)
{
        struct program_source *source = program->source;

        if (!ptx)
                return;
        pthread_mutex_lock(&source->lock);
        if (!source->spare)
                source->spare = steal(ptx);
        pthread_mutex_unlock(&source->lock);
        ptx_module_free(ptx);
}
