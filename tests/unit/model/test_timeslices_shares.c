/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of timeslices: what tenants get of a GPU, in a simulation of it in ticks of 20 µs. */
#include "timeslices.h"

#include <string.h>

#include "clock.h"
#include "unit.h"

#define MS NS_PER_MS
#define US NS_PER_US

static struct timeslices timeslices;

/* A GPU of the simulation: work in order of submission per tenant, slices of 2 ms between tenants. */
enum { TICK_US = 20, WAKE_TICKS = 4, SIM_TENANTS = 4 };
#define TICK (TICK_US * US)

struct load {
        uint64_t kernel_ns; /* 0: no tenant */
        uint64_t period_ns; /* one kernel each; 0: always more */
        unsigned cores, cores_max;
        bool is_latency;
        uint64_t begins_ns;
        bool is_sync; /* waits for each kernel */
};

struct client {
        struct load load;
        int id;
        enum { IDLE, WANTS, ACTIVE } state;
        int64_t bucket_ns, kept_ns;
        uint64_t waits_since_ns, kept_until_ns;
        uint64_t in_flight_ns, busy_ns, next_ns, asked_ns, worst_ns;
        uint64_t measured_ns; /* while it had work, whoever's ran */
        uint64_t done_ns;     /* when that should be done */
        unsigned wake_ticks, kernels;
        uint32_t number;
};

struct scene {
        struct client clients[SIM_TENANTS];
        uint64_t now_ns, slice_ns;
        int running;
};

static bool client_has_work(const struct client *c, uint64_t now_ns)
{
        return c->load.kernel_ns && now_ns >= c->load.begins_ns && now_ns >= c->next_ns &&
               c->bucket_ns > 0;
}

static void client_submit(struct client *c, const struct timeslices_grant *word, uint64_t now_ns)
{
        while (client_has_work(c, now_ns) && c->in_flight_ns < word->in_flight_ns &&
               (!c->load.is_sync || !c->in_flight_ns)) {
                c->in_flight_ns += c->load.kernel_ns;
                c->done_ns = now_ns + c->in_flight_ns;
                c->bucket_ns -= (int64_t)c->load.kernel_ns;
                c->kernels++;
                if (c->load.period_ns) {
                        c->asked_ns = c->next_ns;
                        c->next_ns += c->load.period_ns;
                }
        }
}

static void client_waits(struct client *c, uint64_t now_ns)
{
        c->state = WANTS;
        c->waits_since_ns = now_ns;
}

static void client_pauses(struct client *c, uint64_t now_ns)
{
        c->state = IDLE;
        if (client_has_work(c, now_ns))
                client_waits(c, now_ns);
}

/* As region_compute_keep() does it: what it earned while it waited is not forgotten at once. */
static void client_keeps(struct client *c, uint64_t now_ns, unsigned cap)
{
        const uint64_t waited_ns = now_ns - c->waits_since_ns;

        if (now_ns < c->kept_until_ns && c->kept_ns > (int64_t)(waited_ns * cap / 100))
                return;
        c->kept_ns = (int64_t)(waited_ns * cap / 100);
        c->kept_until_ns = now_ns + 4 * waited_ns;
}

static void client_tick(struct client *c, uint64_t now_ns)
{
        const struct timeslices_grant word = timeslices_grant(&timeslices, c->id);
        const bool is_on = (word.is_open || word.is_free) && now_ns < word.deadline_ns;
        const unsigned cap = c->load.cores_max ? c->load.cores_max : c->load.cores;
        const int64_t depth_ns = (int64_t)(20 * MS * cap / 100 + 2 * word.quantum_ns) +
                                 (now_ns < c->kept_until_ns ? c->kept_ns : 0);

        c->bucket_ns += (int64_t)(TICK * cap / 100);
        if (c->bucket_ns > depth_ns && c->state != WANTS)
                c->bucket_ns = depth_ns;
        if (c->state == IDLE && client_has_work(c, now_ns))
                client_waits(c, now_ns);
        c->wake_ticks = is_on ? c->wake_ticks + 1 : 0; /* a wake takes its time */
        if (c->state == WANTS && is_on && c->wake_ticks >= WAKE_TICKS) {
                c->state = ACTIVE;
                c->number = word.number;
                client_keeps(c, now_ns, cap);
        }
        if (c->state != ACTIVE)
                return;
        if (is_on)
                client_submit(c, &word, now_ns);
        if (!c->in_flight_ns)
                client_pauses(c, now_ns);
}

static void gpu_tick(struct scene *scene)
{
        for (int i = 0; i < SIM_TENANTS; i++) {
                const bool is_over = scene->clients[scene->running].in_flight_ns == 0 ||
                                     scene->slice_ns >= 2 * MS;
                if (!is_over)
                        break;
                scene->running = (scene->running + 1) % SIM_TENANTS;
                scene->slice_ns = 0;
        }
        struct client *c = &scene->clients[scene->running];
        const uint64_t done_ns = c->in_flight_ns < TICK ? c->in_flight_ns : TICK;

        /* A process that the driver lets wait cannot tell that from work. */
        for (int i = 0; i < SIM_TENANTS; i++) {
                struct client *other = &scene->clients[i];

                other->measured_ns += other->in_flight_ns ? TICK : 0;
                other->bucket_ns -= other->in_flight_ns && other != c ? (int64_t)TICK : 0;
        }
        scene->slice_ns += TICK;
        c->in_flight_ns -= done_ns;
        c->busy_ns += done_ns;
        if (done_ns && !c->in_flight_ns && c->load.period_ns &&
            scene->now_ns - c->asked_ns > c->worst_ns)
                c->worst_ns = scene->now_ns - c->asked_ns;
}

static void scene_open(struct scene *scene, const struct load *loads, size_t count)
{
        memset(scene, 0, sizeof *scene);
        timeslices_init(&timeslices, 0);
        for (size_t i = 0; i < count; i++) {
                const struct load *load = &loads[i];
                const unsigned cap = load->cores_max ? load->cores_max : load->cores;
                const struct timeslices_limits limits = { load->cores, cap * 10 * MS,
                                                          load->is_latency };

                scene->clients[i].load = *load;
                scene->clients[i].id = timeslices_add(&timeslices, &limits, false, 0);
        }
}

static void scene_run(struct scene *scene, uint64_t span_ns)
{
        const uint64_t end_ns = scene->now_ns + span_ns;

        for (; scene->now_ns < end_ns; scene->now_ns += TICK) {
                gpu_tick(scene);
                for (int i = 0; i < SIM_TENANTS && scene->clients[i].load.kernel_ns; i++) {
                        struct client *c = &scene->clients[i];

                        client_tick(c, scene->now_ns);
                        const struct timeslices_report report = {
                                .wants = c->state != IDLE,
                                .is_active = c->state == ACTIVE,
                                .has_begun = c->number == timeslices.tenants[c->id].number,
                                .busy_ns = c->measured_ns,
                                .done_ns = c->in_flight_ns ? c->done_ns : 0,
                                .signs = c->busy_ns + scene->now_ns / (5 * MS),
                        };

                        timeslices_report(&timeslices, c->id, &report);
                }
                timeslices_step(&timeslices, scene->now_ns);
        }
}

static double share(struct scene *scene, int client, uint64_t span_ns)
{
        return (double)scene->clients[client].busy_ns * 100 / (double)span_ns;
}

static void check_share(double percent, double wanted, double points)
{
        if (percent < wanted - points || percent > wanted + points)
                fail_msg("a share of %.2f %%, not %.1f ± %.1f", percent, wanted, points);
}

static void check_pair(const struct load loads[2], double first, double second, double points)
{
        struct scene scene;

        scene_open(&scene, loads, 2);
        scene_run(&scene, 10 * NS_PER_S);
        check_share(share(&scene, 0, scene.now_ns), first, points);
        check_share(share(&scene, 1, scene.now_ns), second, points);
}

TEST(two_tenants_get_their_cores)
{
        check_pair((struct load[]){ { 1 * MS, .cores = 30 }, { 1 * MS, .cores = 70 } }, 30, 70,
                   1.5);
        check_pair((struct load[]){ { 50 * US, .cores = 25 }, { 5 * MS, .cores = 25 } }, 25, 25,
                   0.5);
        check_pair((struct load[]){ { 200 * US, .cores = 10 }, { 1 * MS, .cores = 60 } }, 10, 60,
                   0.5);
        check_pair((struct load[]){ { 100 * US, .cores = 50 }, { 1 * MS, .cores = 50 } }, 50, 50,
                   1.5);
}

/* Over ten pieces and more: both have their part, and nothing is lost. */
static void check_long(const struct load loads[2], uint64_t span_ns)
{
        struct scene scene;

        scene_open(&scene, loads, 2);
        scene_run(&scene, span_ns);
        for (int i = 0; i < 2; i++) {
                check_share(share(&scene, i, scene.now_ns), loads[i].cores, 2);
                CHECK_EQ(timeslices.tenants[scene.clients[i].id].lapses, 0);
        }
}

TEST(work_longer_than_a_timeslice_loses_nothing)
{
        const struct load long_ones[] = {
                { 40 * MS, .cores = 50, .is_sync = true },
                { 100 * MS, .cores = 50, .is_sync = true },
                { 500 * MS, .cores = 50, .is_sync = true },
        };
        const struct load short_ones[] = {
                { 1 * MS, .cores = 50 },
                { 60 * US, .cores = 50 },
                { 100 * MS, .cores = 50, .is_sync = true },
        };

        for (unsigned i = 0; i < 9; i++)
                check_long((struct load[]){ long_ones[i / 3], short_ones[i % 3] },
                           (i < 6 ? 6 : 12) * NS_PER_S);
        check_long((struct load[]){ { 2 * NS_PER_S, .cores = 30, .is_sync = true },
                                    { 1 * MS, .cores = 50 } },
                   66 * NS_PER_S);
}

TEST(soft_limits_lend_what_is_idle_and_take_it_back)
{
        struct scene scene;
        const struct load loads[] = {
                { 1 * MS, .cores = 75, .cores_max = 100 },
                { 1 * MS, .cores = 25, .cores_max = 100, .begins_ns = 2 * NS_PER_S },
        };

        scene_open(&scene, loads, 2);
        scene_run(&scene, 2 * NS_PER_S);
        check_share(share(&scene, 0, scene.now_ns), 100, 1);
        /* Taken back within 50 ms: the newcomer has run. */
        scene_run(&scene, 50 * MS);
        assert_true(scene.clients[1].busy_ns > 5 * MS);
        scene.clients[0].busy_ns = scene.clients[1].busy_ns = 0;
        scene_run(&scene, 10 * NS_PER_S);
        check_share(share(&scene, 0, 10 * NS_PER_S), 75, 2);
        check_share(share(&scene, 1, 10 * NS_PER_S), 25, 2);
}

TEST(four_equal_tenants_have_equal_parts)
{
        struct scene scene;
        const struct load loads[SIM_TENANTS] = {
                { 50 * US, .cores = 25, .cores_max = 100 },
                { 500 * US, .cores = 25, .cores_max = 100 },
                { 1 * MS, .cores = 25, .cores_max = 100 },
                { 5 * MS, .cores = 25, .cores_max = 100 },
        };
        double sum = 0, squares = 0;

        scene_open(&scene, loads, SIM_TENANTS);
        scene_run(&scene, 10 * NS_PER_S);
        for (int i = 0; i < SIM_TENANTS; i++) {
                const double part = share(&scene, i, scene.now_ns);

                sum += part;
                squares += part * part;
        }
        assert_true(sum > 97);
        assert_true(sum * sum / (SIM_TENANTS * squares) >= 0.995);
}

TEST(a_request_of_the_latency_class_waits_less_than_four_milliseconds)
{
        struct scene scene;
        const struct load loads[] = {
                { 500 * US, .cores = 80, .cores_max = 100 },
                { 1 * MS, .period_ns = 20 * MS, .cores = 20, .is_latency = true },
        };

        scene_open(&scene, loads, 2);
        scene_run(&scene, 100 * MS);
        scene.clients[1].worst_ns = 0;
        scene_run(&scene, 5 * NS_PER_S);
        assert_true(scene.clients[1].kernels > 200);
        if (scene.clients[1].worst_ns > 4 * MS)
                fail_msg("%.1f ms", (double)scene.clients[1].worst_ns / 1e6);
}

int main(void)
{
        return RUN(CASE(two_tenants_get_their_cores),
                   CASE(work_longer_than_a_timeslice_loses_nothing),
                   CASE(soft_limits_lend_what_is_idle_and_take_it_back),
                   CASE(four_equal_tenants_have_equal_parts),
                   CASE(a_request_of_the_latency_class_waits_less_than_four_milliseconds));
}
