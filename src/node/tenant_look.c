/* A container's account beside the driver's figures of its processes. */
#include "tenant_look.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A container's account, and who has a place in it: read once a look, however many ask. */
struct looking {
        struct account_view view;
        struct vec places; /* of uint64_t, sorted */
};

/* By the node's pid, or where that is not known, its own. */
static uint64_t place_of(bool is_nodes, uint32_t pid)
{
        return (uint64_t)is_nodes << 32 | pid;
}

static int place_compare(const void *a, const void *b)
{
        const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

static bool has_process(const struct vec *processes, const struct held_share *held)
{
        for (size_t i = 0; i < processes->count; i++)
                if (((const struct tenant_process *)vec_at(processes, i))->held == held)
                        return true;
        return false;
}

static void places_read(struct looking *looking)
{
        struct account_process process = { 0 };
        int r = 0;

        for (uint32_t i = 1; i <= looking->view.slots_all && r >= 0; i++) {
                r = account_view_process(&looking->view, i, &process);
                const uint64_t place = process.host_pid ? place_of(true, process.host_pid)
                                                        : place_of(false, process.pid);

                if (r > 0)
                        vec_push(&looking->places, &place);
        }
        if (looking->places.count)
                qsort(vec_at(&looking->places, 0), looking->places.count, sizeof(uint64_t),
                      place_compare);
}

static bool has_place(const struct looking *looking, uint64_t place)
{
        return looking->places.count &&
               bsearch(&place, vec_at(&looking->places, 0), looking->places.count, sizeof(uint64_t),
                       place_compare);
}

/* Has the account a place for it, under the host's pid or its own? */
static bool is_in_account(const struct looking *looking, uint32_t pid)
{
        return has_place(looking, place_of(true, pid)) ||
               has_place(looking, place_of(false, host_process_innermost(pid)));
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
                        const struct looking *looking, uint64_t passed_ns,
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
                if (is_in_account(looking, owned->process.pid))
                        count++; /* nobody else's context is exempt */
                else
                        finding_add(finding, CHEAT_STRANGER,
                                    "its process %u is on GPU %u and not in its account",
                                    owned->process.pid, place);
        }
        if (!looking->view.compute)
                return;
        if (account_view_device(&looking->view, place, clock_now_ns(), &account) < 0) {
                finding_add(finding, CHEAT_ACCOUNT, "its account was cut short");
                return;
        }
        memory_look(state, place, bytes, account.physical_bytes, count, finding);
        compute_look(state, place, busy_percent, account.gpu_ns, passed_ns, finding);
}

static void account_look(const char *path, uint64_t until_ns, struct tenant_finding *finding)
{
        const uint64_t own_ns = clock_now_ns() + ACCOUNT_LOOK_MS * NS_PER_MS;
        struct region region;

        if (region_view_open(path, &region, NULL) < 0)
                return;
        const enum region_fault fault =
                region_check_all(&region, own_ns < until_ns ? own_ns : until_ns);
        region_view_close(&region);
        if (fault != REGION_SOUND)
                finding_add(finding, CHEAT_ACCOUNT, "its account %s", region_fault_text(fault));
}

void tenant_look(struct tenant_state *state, const struct vec *processes, uint64_t passed_ns,
                 uint64_t until_ns, struct tenant_finding *ret_finding)
{
        const unsigned count = share_current(&state->held->share)->device_count;
        struct looking looking = { .places = VEC_OF(uint64_t) };
        char path[SHARE_TEXT];

        *ret_finding = (struct tenant_finding){ 0 };
        share_folder_beside(state->held->path, "region", path);
        const bool is_open = account_view_open(path, &looking.view, NULL) == 0;
        if (is_open && has_process(processes, state->held))
                places_read(&looking);
        for (unsigned i = 0; i < count; i++)
                device_look(state, i, processes, &looking, passed_ns, ret_finding);
        if (is_open)
                account_look(path, until_ns, ret_finding);
        account_view_close(&looking.view);
        vec_done(&looking.places);
        state->is_first = false;
}
