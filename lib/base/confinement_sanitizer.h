/* SPDX-License-Identifier: Apache-2.0 */
/* confinement_sanitizer: what ASan, LSan and TSan call within a daemon, so that their builds run under the filter, too.
 * Empty in any other build. */
#pragma once

#include "confinement.h"

static const struct call_row sanitizer_calls[] = {
#ifdef VGPU_SANITIZED
#ifdef __x86_64__
        CALL(open),       CALL(getdents),     CALL(readlink),    CALL(stat),
#endif
        CALL(clone),  /* LSan's own process stops our threads … */
        CALL(ptrace), /* … and reads their registers */
        CALL(getdents64), CALL(getppid),      CALL(madvise),     CALL(mmap),        CALL(mprotect),
        CALL(prctl),      CALL(rt_sigaction), CALL(sched_yield), CALL(sigaltstack), CALL(wait4),
#endif
        CALL_END,
};
