/* Tests of turns: the token's states one by one, then shares in a simulation of a GPU in 20 µs ticks. */
#include "turns.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "unit.h"

#define MS NS_PER_MS
#define US NS_PER_US

static const struct turns_limits any = { .weight = 100 };
static const struct turns_report idle = { 0 };
static const struct turns_report waiting = { .wants = true };
static const struct turns_report active = { .wants = true, .is_active = true, .has_begun = true };

static struct turns turns;

/* A step that changed something is followed by another at the same time: the arbiter reads again. */
static uint64_t settle(uint64_t now_ns)
{
        turns_step(&turns, now_ns);
        turns_step(&turns, now_ns);
        return turns_step(&turns, now_ns);
}

static void say(int tenant, struct turns_report report)
{
        turns_report(&turns, tenant, &report);
}

static bool is_open(int tenant)
{
        return turns_word(&turns, tenant).is_open;
}

static void two_tenants(int *a, int *b)
{
        turns_init(&turns, 0);
        *a = turns_add(&turns, &any, false, 0);
        *b = turns_add(&turns, &any, false, 0);
}

TEST(whoever_wants_it_alone_has_it_without_end)
{
        int a, b;

        two_tenants(&a, &b);
        CHECK_EQ(settle(0), TURNS_NEVER);
        assert_false(is_open(a));
        say(a, waiting);
        settle(MS);
        assert_true(is_open(a));
        CHECK_EQ(turns_word(&turns, a).deadline_ns, TURNS_NEVER);
        say(a, active);
        CHECK_EQ(settle(2 * MS), TURNS_NEVER);
        /* It goes idle and keeps it. */
        say(a, idle);
        settle(3 * MS);
        assert_true(is_open(a));
}

TEST(the_next_has_it_only_when_the_holder_has_drained)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(a, active);
        say(b, waiting);
        settle(100 * MS);
        assert_false(is_open(a)); /* has had more than a turn already */
        assert_false(is_open(b));
        say(a, waiting);
        settle(101 * MS);
        assert_true(is_open(b));
        /* A quantum, and what it is behind: two at most, it slept. */
        assert_in_range(turns_word(&turns, b).deadline_ns, 111 * MS, 131 * MS + MS);
}

TEST(an_idle_holder_gives_it_up_at_once)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(a, active);
        settle(1 * MS);
        say(a, idle);
        say(b, waiting);
        settle(2 * MS);
        assert_true(is_open(b));
        assert_false(is_open(a));
}

TEST(a_holder_that_does_not_drain_is_left_to_the_driver)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(a, active);
        say(b, waiting);
        CHECK_EQ(settle(10 * MS), 42 * MS); /* told to drain; the patience is in the timer */
        settle(41 * MS);
        assert_false(is_open(b));
        settle(42 * MS);
        assert_true(is_open(b));
        assert_true(turns_word(&turns, a).is_free);
        CHECK_EQ(turns.tenants[a].lapses, 1);
        /* Done at last: it takes part again. */
        say(a, waiting);
        say(b, active);
        settle(43 * MS);
        assert_false(turns_word(&turns, a).is_free);
        settle(53 * MS);
        say(b, idle);
        settle(54 * MS);
        assert_true(is_open(a));
}

TEST(a_turn_that_nobody_takes_up_passes_on_until_there_is_a_sign_of_life)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(b, waiting);
        CHECK_EQ(settle(1 * MS), 8 * MS);
        settle(8 * MS);
        assert_true(is_open(b));
        say(b, idle);
        settle(60 * MS);
        assert_false(is_open(a)); /* stopped */
        say(a, (struct turns_report){ .wants = true, .signs = 1 });
        settle(61 * MS);
        assert_true(is_open(a));
}

TEST(a_turn_taken_up_and_ended_between_two_looks_is_not_a_lapse)
{
        int a, b;

        two_tenants(&a, &b);
        say(b, waiting);
        say(a, waiting);
        settle(0);
        say(a, (struct turns_report){ .wants = true, .has_begun = true });
        settle(1 * MS);
        assert_true(is_open(b));
        CHECK_EQ(turns.tenants[a].lapses, 0);
}

TEST(a_latency_tenant_shortens_the_turn_of_a_batch_tenant)
{
        int a, b;
        const struct turns_limits latency = { .weight = 100, .is_latency = true };

        two_tenants(&a, &b);
        CHECK_EQ(turns_quantum_ns(&turns), 10 * MS);
        turns_limit(&turns, b, &latency);
        say(a, waiting);
        settle(0);
        say(a, active);
        say(b, waiting);
        settle(500 * US);
        CHECK_EQ(turns_word(&turns, a).deadline_ns, 1 * MS);
        say(b, idle);
        settle(600 * US);
        CHECK_EQ(turns_quantum_ns(&turns), 4 * MS); /* it is about */
        settle(2 * NS_PER_S);
        CHECK_EQ(turns_quantum_ns(&turns), 10 * MS);
}

TEST(whoever_slept_has_saved_up_two_quanta_and_no_more)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(a, (struct turns_report){ .wants = true, .is_active = true, .busy_ns = 0 });
        settle(1 * MS);
        say(a, (struct turns_report){ .wants = true, .is_active = true, .busy_ns = 60 * NS_PER_S });
        say(b, waiting);
        settle(60 * NS_PER_S);
        const uint64_t ahead = turns.tenants[a].virtual_time - turns.tenants[b].virtual_time;
        CHECK_EQ(ahead, 20 * MS * 64 / 100);
}

TEST(what_a_liar_says_counts_as_half_of_the_time_it_held)
{
        int a, b;

        two_tenants(&a, &b);
        say(b, waiting);
        say(a, waiting);
        settle(0);
        say(a, active);
        settle(9 * MS);
        settle(10 * MS);
        say(a, waiting);
        settle(12 * MS);
        CHECK_EQ(turns.tenants[a].charged_ns, 6 * MS);
        /* Nor does a boast cost another anything. */
        say(b, (struct turns_report){ .wants = true, .has_begun = true, .busy_ns = UINT64_MAX });
        settle(13 * MS);
        CHECK_EQ(turns.tenants[b].charged_ns, 1 * MS);
}

TEST(a_tenant_in_debt_waits_until_it_is_paid)
{
        const struct turns_limits tenth = { .weight = 10, .cap_ns_per_s = 64 * MS };
        int a, b;

        two_tenants(&a, &b);
        turns_limit(&turns, a, &tenth); /* with our margin: 65 ms per second */
        say(a, waiting);
        settle(0);
        say(a, (struct turns_report){ .wants = true, .is_active = true, .busy_ns = 0 });
        settle(1 * MS);
        say(a, (struct turns_report){ .wants = true, .has_begun = true, .busy_ns = 100 * MS });
        const uint64_t paid_ns = settle(100 * MS);
        assert_false(is_open(a));
        assert_true(paid_ns > NS_PER_S && paid_ns < 2 * NS_PER_S);
        settle(paid_ns + MS);
        assert_true(is_open(a));
}

TEST(resident_sets_that_do_not_fit_make_turns_longer)
{
        int a, b;

        two_tenants(&a, &b);
        turns.card_bytes = 1000;
        turns.swap_bytes_per_s = 10000;
        say(a, (struct turns_report){ .wants = true, .resident_bytes = 750 });
        settle(0);
        CHECK_EQ(turns_quantum_ns(&turns), 10 * MS);
        say(b, (struct turns_report){ .wants = true, .resident_bytes = 750 });
        settle(1 * MS);
        CHECK_EQ(turns.swap_ns, 50 * MS);
        CHECK_EQ(turns_quantum_ns(&turns), 450 * MS); /* swapping is a tenth of the whole */
        assert_true(turns_word(&turns, a).is_crowded);
        CHECK_EQ(turns_word(&turns, a).in_flight_ns, 4 * MS);
}

TEST(without_turns_everybody_is_free)
{
        int a, b;

        two_tenants(&a, &b);
        turns.is_off = true;
        say(a, active);
        say(b, active);
        settle(0);
        assert_true(turns_word(&turns, a).is_free && turns_word(&turns, b).is_free);
}

TEST(those_who_ran_before_drain_before_the_first_turn)
{
        turns_init(&turns, 0);
        const int a = turns_add(&turns, &any, true, 0);
        const int b = turns_add(&turns, &any, true, 0);

        say(a, active);
        say(b, waiting);
        settle(1 * MS);
        assert_false(is_open(b));
        say(a, idle);
        settle(2 * MS);
        assert_true(is_open(b));
}

/* A GPU of the simulation: work in order of submission per tenant, slices of 2 ms between tenants. */
enum { TICK_US = 20, WAKE_TICKS = 4, SIM_TENANTS = 4 };
#define TICK (TICK_US * US)

struct load {
        uint64_t kernel_ns; /* 0: no tenant */
        uint64_t period_ns; /* one kernel each; 0: always more */
        unsigned cores, cores_max;
        bool is_latency;
        uint64_t begins_ns;
};

struct client {
        struct load load;
        int id;
        enum { IDLE, WANTS, ACTIVE } state;
        int64_t bucket_ns;
        uint64_t in_flight_ns, busy_ns, next_ns, asked_ns, worst_ns;
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

static void client_submit(struct client *c, const struct turns_word *word, uint64_t now_ns)
{
        while (client_has_work(c, now_ns) && c->in_flight_ns < word->in_flight_ns) {
                c->in_flight_ns += c->load.kernel_ns;
                c->bucket_ns -= (int64_t)c->load.kernel_ns;
                c->kernels++;
                if (c->load.period_ns) {
                        c->asked_ns = c->next_ns;
                        c->next_ns += c->load.period_ns;
                }
        }
}

static void client_tick(struct client *c, uint64_t now_ns)
{
        const struct turns_word word = turns_word(&turns, c->id);
        const bool is_on = (word.is_open || word.is_free) && now_ns < word.deadline_ns;
        const unsigned cap = c->load.cores_max ? c->load.cores_max : c->load.cores;
        const int64_t depth_ns = (int64_t)(20 * MS * cap / 100 + 2 * word.quantum_ns);

        c->bucket_ns += (int64_t)(TICK * cap / 100);
        if (c->bucket_ns > depth_ns)
                c->bucket_ns = depth_ns;
        if (c->state == IDLE && client_has_work(c, now_ns))
                c->state = WANTS;
        c->wake_ticks = is_on ? c->wake_ticks + 1 : 0; /* a wake takes its time */
        if (c->state == WANTS && is_on && c->wake_ticks >= WAKE_TICKS) {
                c->state = ACTIVE;
                c->number = word.number;
        }
        if (c->state != ACTIVE)
                return;
        if (is_on)
                client_submit(c, &word, now_ns);
        if (!c->in_flight_ns)
                c->state = client_has_work(c, now_ns) ? WANTS : IDLE;
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
        turns_init(&turns, 0);
        for (size_t i = 0; i < count; i++) {
                const struct load *load = &loads[i];
                const unsigned cap = load->cores_max ? load->cores_max : load->cores;
                const struct turns_limits limits = { load->cores, cap * 10 * MS, load->is_latency };

                scene->clients[i].load = *load;
                scene->clients[i].id = turns_add(&turns, &limits, false, 0);
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
                        say(c->id, (struct turns_report){
                                           .wants = c->state != IDLE,
                                           .is_active = c->state == ACTIVE,
                                           .has_begun = c->number == turns.tenants[c->id].number,
                                           .busy_ns = c->busy_ns,
                                   });
                }
                turns_step(&turns, scene->now_ns);
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

TEST(two_tenants_have_what_they_were_given)
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
        return RUN(CASE(whoever_wants_it_alone_has_it_without_end),
                   CASE(the_next_has_it_only_when_the_holder_has_drained),
                   CASE(an_idle_holder_gives_it_up_at_once),
                   CASE(a_holder_that_does_not_drain_is_left_to_the_driver),
                   CASE(a_turn_that_nobody_takes_up_passes_on_until_there_is_a_sign_of_life),
                   CASE(a_turn_taken_up_and_ended_between_two_looks_is_not_a_lapse),
                   CASE(a_latency_tenant_shortens_the_turn_of_a_batch_tenant),
                   CASE(whoever_slept_has_saved_up_two_quanta_and_no_more),
                   CASE(what_a_liar_says_counts_as_half_of_the_time_it_held),
                   CASE(a_tenant_in_debt_waits_until_it_is_paid),
                   CASE(resident_sets_that_do_not_fit_make_turns_longer),
                   CASE(without_turns_everybody_is_free),
                   CASE(those_who_ran_before_drain_before_the_first_turn),
                   CASE(two_tenants_have_what_they_were_given),
                   CASE(soft_limits_lend_what_is_idle_and_take_it_back),
                   CASE(four_equal_tenants_have_equal_parts),
                   CASE(a_request_of_the_latency_class_waits_less_than_four_milliseconds));
}
