/* SPDX-License-Identifier: Apache-2.0 */
/* A module's accessors, variables' addresses and initial bytes, and its end. */
#include <stdlib.h>
#include <string.h>

#include "ptx_ir.h"

static void function_free(struct function *f)
{
        for (uint32_t n = 0; n < f->owned_count; n++)
                free(f->owned[n]);
        free(f->owned);
        free(f->name);
        free(f->code);
        free(f->constants);
        free(f->params);
        free(f->returns);
        free(f->shared);
        free(f->callees);
        free(f->reason);
}

void ptx_module_free(struct ptx_module *module)
{
        if (!module)
                return;
        for (uint32_t n = 0; n < module->function_count; n++)
                function_free(&module->functions[n]);
        for (uint32_t n = 0; n < module->variable_count; n++) {
                free((char *)module->variables[n].view.name);
                free(module->variables[n].initial);
                free(module->variables[n].relocations);
        }
        for (uint32_t n = 0; n < module->kernel_count; n++) {
                free(module->kernels[n].params);
                free(module->kernels[n].shared);
                free(module->kernels[n].reason);
        }
        free(module->functions);
        free(module->variables);
        free(module->listed);
        free(module->kernels);
        free(module);
}

size_t ptx_module_kernel_count(const struct ptx_module *module)
{
        return module->kernel_count;
}

const struct ptx_kernel *ptx_module_kernel(const struct ptx_module *module, size_t index)
{
        return index < module->kernel_count ? &module->kernels[index] : NULL;
}

const struct ptx_kernel *ptx_kernel_find(const struct ptx_module *module, const char *name)
{
        for (uint32_t n = 0; n < module->kernel_count; n++)
                if (strcmp(module->kernels[n].function->name, name) == 0)
                        return &module->kernels[n];
        return NULL;
}

unsigned ptx_module_target_sm(const struct ptx_module *module)
{
        return module->target_sm;
}

unsigned ptx_module_ptx_version(const struct ptx_module *module)
{
        return module->ptx_version;
}

const char *ptx_kernel_name(const struct ptx_kernel *kernel)
{
        return kernel->function->name;
}

const struct ptx_footprint *ptx_kernel_footprint(const struct ptx_kernel *kernel)
{
        return &kernel->footprint;
}

const struct ptx_param *ptx_kernel_param(const struct ptx_kernel *kernel, size_t index)
{
        return index < kernel->footprint.param_count ? &kernel->params[index] : NULL;
}

size_t ptx_module_variable_count(const struct ptx_module *module)
{
        return module->listed_count;
}

const struct ptx_variable *ptx_module_variable(const struct ptx_module *module, size_t index)
{
        return index < module->listed_count ? &module->variables[module->listed[index]].view : NULL;
}

void ptx_module_set_address(struct ptx_module *module, size_t index, uint64_t address)
{
        if (index < module->listed_count)
                module->variables[module->listed[index]].address = address;
}

bool ptx_module_has_initial(const struct ptx_module *module, size_t index)
{
        return index < module->listed_count &&
               module->variables[module->listed[index]].initial_bytes;
}

void ptx_module_write_initial(const struct ptx_module *module, size_t index, void *ret_bytes)
{
        const struct variable *v;

        if (index >= module->listed_count)
                return;
        v = &module->variables[module->listed[index]];
        memset(ret_bytes, 0, v->view.size);
        if (v->initial_bytes)
                memcpy(ret_bytes, v->initial, v->initial_bytes);
        for (uint32_t n = 0; n < v->relocation_count; n++) {
                const struct relocation *r = &v->relocations[n];
                uint64_t value;

                if (r->is_function)
                        value = WINDOW_FUNCTION + 16ull * module->functions[r->symbol].definition;
                else
                        value = module->variables[module->variables[r->symbol].definition].address;
                value = (value + (uint64_t)r->addend) >> r->shift;
                memcpy((unsigned char *)ret_bytes + r->at, &value, r->width);
        }
}
