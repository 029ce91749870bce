/* SPDX-License-Identifier: Apache-2.0 */
/* cuLink*: collects inputs, checks that they fit together, and gives them back as one image. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "container.h"
#include "context.h"
#include "jit.h"
#include "program.h"
#include "ptx.h"
#include "scope.h"
#include "sim_cuda.h"
#include "vec.h"

#define LINK_MAGIC UINT32_C(0x6b6e696c)

/* A CUlinkState. */
struct link {
        uint32_t magic;
        struct jit jit;
        uint64_t start_ns;
        struct vec parts; /* struct container_part; their bytes are ours */
        void *image;
};

static struct link *link_get(CUlinkState handle)
{
        struct link *link = (struct link *)handle;

        if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct link) != 0)
                return NULL;
        return link->magic == LINK_MAGIC ? link : NULL;
}

CUresult sim_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                             CUlinkState *stateOut)
{
        struct context *context;

        if (!stateOut)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;

        autofree struct link *link = calloc(1, sizeof *link);

        if (!link)
                return CUDA_ERROR_OUT_OF_MEMORY;
        r = jit_init(&link->jit, numOptions, options, optionValues);
        if (r != CUDA_SUCCESS)
                return r;
        link->magic = LINK_MAGIC;
        link->start_ns = clock_now_ns();
        link->parts = (struct vec)VEC_OF(struct container_part);
        *stateOut = (CUlinkState)steal(link);
        return CUDA_SUCCESS;
}

CUresult sim_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                          CUlinkState *stateOut)
{
        return sim_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

/* Says what is wrong in the log of the link. */
static CUresult refuse(struct link *link, CUresult result, const char *name, const char *why)
{
        jit_complain(&link->jit, "%s: %s\n", name && *name ? name : "input", why);
        jit_done(&link->jit, clock_now_ns() - link->start_ns);
        return result;
}

static CUresult part_check(struct link *link, const struct container_part *part, const char *name)
{
        struct program *program = NULL;
        struct ptx_module *ptx = NULL;
        struct context *context = context_current();
        struct err e = { 0 };
        CUresult r = CUDA_SUCCESS;

        if (part->is_ptx) {
                int n = ptx_module_new(part->bytes, part->length, &ptx, &e);

                if (n < 0)
                        r = n == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
                ptx_module_free(ptx);
        } else {
                struct device *device = context ? context->device : &driver.devices[0];

                r = program_new(part->bytes, part->length, device_gpu(device), &program, &e);
                program_unref(program);
        }
        return r == CUDA_SUCCESS ? r : refuse(link, r, name, e.text);
}

CUresult sim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                              const char *name, unsigned int numOptions, CUjit_option *options,
                              void **optionValues)
{
        struct link *link = link_get(state);
        struct jit ignored; /* options of one input say how to compile it */

        if (!link)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!data || size == 0 || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES || link->image)
                return CUDA_ERROR_INVALID_VALUE;
        if (type == CU_JIT_INPUT_NVVM)
                return refuse(link, CUDA_ERROR_NOT_SUPPORTED, name, "NVVM code is not simulated");
        /* Archives hold the device runtime, which the simulator does not need. */
        if (type == CU_JIT_INPUT_LIBRARY)
                return CUDA_SUCCESS;

        CUresult r = jit_init(&ignored, numOptions, options, optionValues);

        if (r != CUDA_SUCCESS)
                return r;

        autofree char *bytes = malloc(size);
        struct container_part part = { type == CU_JIT_INPUT_PTX, bytes, size };

        if (!bytes)
                return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(bytes, data, size);
        r = part_check(link, &part, name);
        if (r != CUDA_SUCCESS)
                return r;
        if (vec_push(&link->parts, &part) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        (void)steal(bytes);
        return CUDA_SUCCESS;
}

CUresult sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                           const char *name, unsigned int numOptions, CUjit_option *options,
                           void **optionValues)
{
        return sim_cuLinkAddData_v2(state, type, data, size, name, numOptions, options,
                                    optionValues);
}

CUresult sim_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                              unsigned int numOptions, CUjit_option *options, void **optionValues)
{
        autofree char *bytes = NULL;
        size_t size;

        if (!link_get(state))
                return CUDA_ERROR_INVALID_HANDLE;
        if (!path)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = program_read(path, &bytes, &size);

        if (r != CUDA_SUCCESS)
                return r;
        return sim_cuLinkAddData_v2(state, type, bytes, size, path, numOptions, options,
                                    optionValues);
}

CUresult sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                           unsigned int numOptions, CUjit_option *options, void **optionValues)
{
        return sim_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

/* All the PTX together: symbols that one input takes from another must be there. */
static CUresult link_check(struct link *link)
{
        autofree struct ptx_text *texts = calloc(link->parts.count + 1, sizeof *texts);
        struct ptx_module *ptx = NULL;
        struct err e = { 0 };
        size_t count = 0;

        if (!texts)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < link->parts.count; i++) {
                const struct container_part *part = vec_at(&link->parts, i);

                if (part->is_ptx)
                        texts[count++] = (struct ptx_text){ part->bytes, part->length };
        }
        if (count == 0)
                return CUDA_SUCCESS;

        int n = ptx_module_link(texts, count, &ptx, &e);

        ptx_module_free(ptx);
        return n < 0 ? refuse(link, CUDA_ERROR_INVALID_PTX, "link", e.text) : CUDA_SUCCESS;
}

CUresult sim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
        struct link *link = link_get(state);
        size_t bytes;

        if (!link)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!cubinOut || link->image)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = link_check(link);

        if (r != CUDA_SUCCESS)
                return r;
        if (container_write(link->parts.items, link->parts.count, &link->image, &bytes) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *cubinOut = link->image;
        if (sizeOut)
                *sizeOut = bytes;
        jit_done(&link->jit, clock_now_ns() - link->start_ns);
        return CUDA_SUCCESS;
}

CUresult sim_cuLinkDestroy(CUlinkState state)
{
        struct link *link = link_get(state);

        if (!link)
                return CUDA_ERROR_INVALID_HANDLE;
        link->magic = 0;
        for (size_t i = 0; i < link->parts.count; i++)
                free((void *)((struct container_part *)vec_at(&link->parts, i))->bytes);
        vec_done(&link->parts);
        free(link->image);
        free(link);
        return CUDA_SUCCESS;
}
