/* SPDX-License-Identifier: Apache-2.0 */
/* library_charge: libraries belong to no context, yet their code and variables are device memory of
 * each context that uses them. The driver takes it at the first use, in the middle of a launch; here
 * it is taken at once, where it can be refused: in every context there is when a library is loaded,
 * and in every context that is made while it is. */
#pragma once

#include "real.h"

/* A library was loaded, which takes so much in each context at least. OUT_OF_MEMORY: it does not fit; the
 * caller unloads it. */
CUresult library_charge_load(CUlibrary library, uint64_t need_bytes);
/* Unloads it, in all contexts. */
CUresult library_charge_unload(cuLibraryUnload_fn *real, CUlibrary library);

/* A context was made. OUT_OF_MEMORY: the libraries do not fit into it; the caller destroys it. */
CUresult library_charge_context(CUcontext context, CUdevice device);
void library_charge_context_gone(CUcontext context);
