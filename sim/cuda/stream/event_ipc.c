/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of events for other processes. */
#include <string.h>

#include "sim_cuda.h"
#include "stream_event.h"

#define TICKET_MAGIC UINT64_C(0x746e657665637069)

/* What a handle says. */
struct ticket {
        uint64_t magic;
        uint8_t machine[16];
        uint64_t index, number;
};
static_assert(sizeof(struct ticket) <= CU_IPC_HANDLE_SIZE, "fits a handle");

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent handle)
{
        struct event *event = event_get(handle);
        struct ticket ticket = { .magic = TICKET_MAGIC };
        CUresult r;

        if (!event || !pHandle)
                return CUDA_ERROR_INVALID_VALUE;
        if (!(event->flags & CU_EVENT_INTERPROCESS))
                return CUDA_ERROR_INVALID_HANDLE;
        r = event_export(event);
        if (r != CUDA_SUCCESS)
                return r;
        memcpy(ticket.machine, driver.machine.file->header.id, sizeof ticket.machine);
        ticket.index = event->share.index;
        ticket.number = event->share.number;
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &ticket, sizeof ticket);
        return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
        struct event_share share = { 0 };
        struct context *context;
        struct ticket ticket;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!phEvent)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&ticket, &handle, sizeof ticket);
        if (ticket.magic != TICKET_MAGIC || ticket.index > UINT32_MAX ||
            memcmp(ticket.machine, driver.machine.file->header.id, sizeof ticket.machine))
                return CUDA_ERROR_INVALID_HANDLE;
        share.index = (uint32_t)ticket.index;
        share.number = ticket.number;
        share.row = export_row(&driver.machine, share.index, share.number);
        if (!share.row || share.row->kind != EXPORT_EVENT)
                return CUDA_ERROR_INVALID_HANDLE;
        r = sim_cuEventCreate(phEvent, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
        if (r == CUDA_SUCCESS)
                event_get(*phEvent)->share = share;
        return r;
}
