/* A container's account beside the driver's figures of its processes. */
#include "tenant_look.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "account_view.h"
#include "clock.h"
#include "host_process.h"
#include "quantity.h"
#include "region_check.h"
#include "region_view.h"
#include "share_folder.h"

/* What a context takes where nobody knows: none is larger. */
#define CONTEXT_BYTES (UINT64_C(1) << 30)

/* Has the account a place for it, under the host's pid or its own? */
static bool is_in_account(const struct account_view *view, uint32_t pid)
{
        const unsigned own = host_process_innermost(pid);
        struct account_process process;

        for (uint32_t i = 1; i <= view->slots; i++)
                if (account_view_process(view, i, &process) == 1 &&
                    (process.host_pid ? process.host_pid == pid : process.pid == own))
                        return true;
        return false;
}

static void finding_add(struct tenant_finding *finding, enum cheat cheat, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
static void finding_add(struct tenant_finding *finding, enum cheat cheat, const char *format, ...)
{
        va_list words;

        finding->seen |= 1u << cheat;
        va_start(words, format);
        vsnprintf(finding->sentences[cheat], TENANT_SENTENCE, format, words);
        va_end(words);
}

static void memory_look(const struct tenant_state *state, unsigned place, uint64_t driver_bytes,
                        uint64_t account_bytes, unsigned processes, struct tenant_finding *finding)
{
        const struct share_device *device = &share_current(&state->held->share)->devices[place];
        const uint64_t context = device->context_bytes ? device->context_bytes : CONTEXT_BYTES;
        const uint64_t exempt = device->flags & SHARE_CONTEXT_EXEMPT ? processes * context : 0;
        char driver[QUANTITY_TEXT_BYTES], account[QUANTITY_TEXT_BYTES];

        if (!tenant_holds_more(driver_bytes, account_bytes, exempt))
                return;
        quantity_format_bytes(driver_bytes, driver);
        quantity_format_bytes(account_bytes, account);
        finding_add(finding, CHEAT_MEMORY, "it holds %s of GPU %u, and its account says %s", driver,
                    place, account);
}

static void compute_look(struct tenant_state *state, unsigned place, unsigned driver_percent,
                         uint64_t gpu_ns, uint64_t passed_ns, struct tenant_finding *finding)
{
        const uint64_t said_ns =
                gpu_ns > state->devices[place].gpu_ns ? gpu_ns - state->devices[place].gpu_ns : 0;
        const double account = passed_ns ? (double)said_ns / (double)passed_ns : 1;
        const double driver = driver_percent / 100.0;

        state->devices[place].gpu_ns = gpu_ns;
        if (state->is_first || !tenant_runs_more(driver, account))
                return;
        finding_add(finding, CHEAT_COMPUTE,
                    "it uses %.0f %% of GPU %u's time, and its account says %.0f %%", driver * 100,
                    place, account * 100);
        finding->unsaid_ns[place] = (uint64_t)((driver - account) * (double)passed_ns);
}

static void device_look(struct tenant_state *state, unsigned place, const struct vec *processes,
                        const struct account_view *view, uint64_t passed_ns,
                        struct tenant_finding *finding)
{
        const char *uuid = share_current(&state->held->share)->devices[place].uuid;
        struct account_device account = { 0 };
        unsigned count = 0, busy_percent = 0;
        uint64_t bytes = 0;

        for (size_t i = 0; i < processes->count; i++) {
                const struct tenant_process *owned = vec_at(processes, i);

                if (owned->held != state->held || strcmp(owned->process.uuid, uuid) != 0)
                        continue;
                bytes += owned->process.bytes;
                busy_percent += owned->process.busy_percent;
                if (is_in_account(view, owned->process.pid))
                        count++; /* nobody else's context is exempt */
                else
                        finding_add(finding, CHEAT_STRANGER,
                                    "its process %u is on GPU %u and not in its account",
                                    owned->process.pid, place);
        }
        if (account_view_device(view, place, clock_now_ns(), &account) < 0)
                return;
        memory_look(state, place, bytes, account.physical_bytes, count, finding);
        compute_look(state, place, busy_percent, account.gpu_ns, passed_ns, finding);
}

static void account_look(const char *path, struct tenant_finding *finding)
{
        struct region region;

        if (region_view_open(path, &region, NULL) < 0)
                return;
        const enum region_fault fault = region_check_all(&region);
        region_view_close(&region);
        if (fault != REGION_SOUND)
                finding_add(finding, CHEAT_ACCOUNT, "its account %s", region_fault_text(fault));
}

void tenant_look(struct tenant_state *state, const struct vec *processes, uint64_t passed_ns,
                 struct tenant_finding *ret_finding)
{
        const unsigned count = share_current(&state->held->share)->device_count;
        struct account_view view = { 0 };
        char path[SHARE_TEXT];

        *ret_finding = (struct tenant_finding){ 0 };
        share_folder_beside(state->held->path, "region", path);
        const bool is_open = account_view_open(path, &view, NULL) == 0;
        for (unsigned i = 0; i < count; i++)
                device_look(state, i, processes, &view, passed_ns, ret_finding);
        if (is_open)
                account_look(path, ret_finding);
        account_view_close(&view);
        state->is_first = false;
}
