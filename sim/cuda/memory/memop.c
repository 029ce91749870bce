/* SPDX-License-Identifier: Apache-2.0 */
/* Memory operations of streams: wait for a value, write a value. */
#include "memop.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture.h"
#include "memory.h"
#include "sim_cuda.h"

enum { MEMOPS = 256 };

struct memop {
        struct context *context;
        CUstreamBatchMemOpParams params;
};

static bool memop_is_wide(const CUstreamBatchMemOpParams *op)
{
        return op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
               op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

/* The word the operation works on; NULL: it is gone, or was never there. */
static void *memop_word(struct context *context, const CUstreamBatchMemOpParams *op, bool is_write)
{
        uint64_t low, high;

        return memory_resolve(context, op->waitValue.address, memop_is_wide(op) ? 8 : 4, is_write,
                              &low, &high);
}

static bool wait_is_over(uint64_t word, uint64_t value, unsigned flags, bool is_wide)
{
        switch (flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) {
        case CU_STREAM_WAIT_VALUE_GEQ:
                return is_wide ? (int64_t)(word - value) >= 0
                               : (int32_t)((uint32_t)word - (uint32_t)value) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
                return word == value;
        case CU_STREAM_WAIT_VALUE_AND:
                return (word & value) != 0;
        default:
                return (is_wide ? ~(word | value) : (uint32_t) ~(word | value)) != 0;
        }
}

static bool memop_is_due(void *closure)
{
        struct memop *memop = closure;
        const CUstreamBatchMemOpParams *op = &memop->params;
        bool is_wide = memop_is_wide(op);
        void *word = memop_word(memop->context, op, false);

        if (!word)
                return true; /* freed memory never changes: do not hang on it */
        return is_wide ? wait_is_over(__atomic_load_n((uint64_t *)word, __ATOMIC_ACQUIRE),
                                      op->waitValue.value64, op->waitValue.flags, true)
                       : wait_is_over(__atomic_load_n((uint32_t *)word, __ATOMIC_ACQUIRE),
                                      op->waitValue.value, op->waitValue.flags, false);
}

static CUresult memop_write(void *closure, uint64_t *ret_duration_ns)
{
        struct memop *memop = closure;
        const CUstreamBatchMemOpParams *op = &memop->params;
        void *word = memop_word(memop->context, op, true);

        *ret_duration_ns = 0;
        if (!word)
                return CUDA_ERROR_ILLEGAL_ADDRESS;
        if (memop_is_wide(op))
                __atomic_store_n((uint64_t *)word, op->writeValue.value64, __ATOMIC_RELEASE);
        else
                __atomic_store_n((uint32_t *)word, op->writeValue.value, __ATOMIC_RELEASE);
        return CUDA_SUCCESS;
}

static CUresult memop_submit_one(struct stream *stream, const CUstreamBatchMemOpParams *op)
{
        struct memop *memop;

        if (op->operation == CU_STREAM_MEM_OP_BARRIER ||
            op->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
                return CUDA_SUCCESS;
        memop = malloc(sizeof *memop);
        if (!memop)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *memop = (struct memop){ stream->context, *op };
        if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
            op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
                return work_submit_poll(stream, memop_is_due, free, memop);

        struct work work = {
                .engine = ENGINE_IN,
                .run = memop_write,
                .free = free,
                .closure = memop,
        };
        return work_submit(stream, &work, NULL);
}

CUresult memop_submit(struct stream *stream, const CUstreamBatchMemOpParams *ops, unsigned count)
{
        CUresult r = CUDA_SUCCESS;

        for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
                r = memop_submit_one(stream, &ops[i]);
        return r;
}

static CUresult check_value(const CUstreamBatchMemOpParams *op, struct context *context)
{
        bool is_wait = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                       op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        unsigned flags = op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;

        if (op->waitValue.address % (memop_is_wide(op) ? 8 : 4) ||
            !memop_word(context, op, !is_wait))
                return CUDA_ERROR_INVALID_VALUE;
        return flags <= (is_wait ? (unsigned)CU_STREAM_WAIT_VALUE_NOR
                                 : (unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
                       ? CUDA_SUCCESS
                       : CUDA_ERROR_INVALID_VALUE;
}

CUresult memop_check(const CUstreamBatchMemOpParams *ops, unsigned count)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS && (count > MEMOPS || (count && !ops)))
                r = CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++) {
                switch (ops[i].operation) {
                case CU_STREAM_MEM_OP_WAIT_VALUE_32:
                case CU_STREAM_MEM_OP_WRITE_VALUE_32:
                case CU_STREAM_MEM_OP_WAIT_VALUE_64:
                case CU_STREAM_MEM_OP_WRITE_VALUE_64:
                        r = check_value(&ops[i], context);
                        break;
                case CU_STREAM_MEM_OP_BARRIER:
                case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
                        break;
                default:
                        r = CUDA_ERROR_INVALID_VALUE;
                }
        }
        return r;
}

CUresult sim_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                   CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
        struct stream *target;
        CUresult r = stream_get(stream, &target);

        if (r == CUDA_SUCCESS && flags)
                r = CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS)
                r = memop_check(paramArray, count);
        if (r != CUDA_SUCCESS)
                return r;
        return capture_is_active(target) ? capture_add_memops(target, paramArray, count)
                                         : memop_submit(target, paramArray, count);
}

CUresult sim_cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
        return sim_cuStreamBatchMemOp_v2(stream, count, paramArray, flags);
}

static CUresult memop_one(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr address,
                          uint64_t value, unsigned flags)
{
        CUstreamBatchMemOpParams op = { .waitValue = { .operation = operation,
                                                       .address = address,
                                                       .value64 = value,
                                                       .flags = flags } };

        return sim_cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

CUresult sim_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                    unsigned int flags)
{
        return memop_one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult sim_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                    unsigned int flags)
{
        return memop_one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult sim_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                     unsigned int flags)
{
        return memop_one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult sim_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                     unsigned int flags)
{
        return memop_one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

CUresult sim_cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                 unsigned int flags)
{
        return sim_cuStreamWaitValue32_v2(stream, addr, value, flags);
}

CUresult sim_cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                 unsigned int flags)
{
        return sim_cuStreamWaitValue64_v2(stream, addr, value, flags);
}

CUresult sim_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                  unsigned int flags)
{
        return sim_cuStreamWriteValue32_v2(stream, addr, value, flags);
}

CUresult sim_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                  unsigned int flags)
{
        return sim_cuStreamWriteValue64_v2(stream, addr, value, flags);
}
