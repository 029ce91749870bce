/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of who may register, and how far an environment raises a share: by its control group, to its
 * ceiling or to what the GPU has left, and never beyond. */
#include "registrar.h"

#include <errno.h>

#include "book_bench.h"
#include "group_share.h"
#include "tenant_throttle.h"

#define POD   "6c2a1f0e-9b3d-4d7e-8f11-aa00bb22cc33"
#define OTHER "00000000-9b3d-4d7e-8f11-aa00bb22cc33"

struct desk {
        struct book_bench bench;
        struct share_fit fit;
        struct registrar registrar;
        unsigned raises;
};

static void on_raise(void *owner, struct held_share *held)
{
        struct desk *desk = owner;

        (void)held;
        desk->raises++;
}

static void desk_open(struct desk *desk, enum env_ceiling ceiling)
{
        *desk = (struct desk){ 0 };
        book_bench_open(&desk->bench);
        desk->fit = (struct share_fit){ .book = desk->bench.book,
                                        .memory_scaling = 1,
                                        .cores_scaling = 1,
                                        .set = { .count = 1 } };
        strcpy(desk->fit.set.gpus[0].uuid, "GPU-1");
        desk->fit.set.gpus[0].memory_bytes = 1000 * MIB;
        desk->registrar = (struct registrar){
                .fit = &desk->fit, .ceiling = ceiling, .on_raise = on_raise, .owner = desk
        };
}

static int ask(struct desk *desk, const char *pod, const char *id, uint64_t limit_mib,
               unsigned cores, int *ret_raised)
{
        struct registry_peer peer = { .pid = 1 };
        struct registry_request request = { .limit_bytes = limit_mib * MIB,
                                            .cores_percent = cores };

        snprintf(peer.group.pod_uid, sizeof peer.group.pod_uid, "%s", pod);
        snprintf(peer.group.container_id, sizeof peer.group.container_id, "%s", id);
        if (limit_mib || cores)
                strcpy(request.uuid, "GPU-1");
        *ret_raised = 0;
        return registrar_register(&desk->registrar, &peer, &request, ret_raised);
}

TEST(a_process_belongs_to_the_container_whose_id_the_runtime_gave)
{
        struct desk desk;
        int raised;

        desk_open(&desk, ENV_CEILING_NONE);
        struct held_share *a = book_bench_put(&desk.bench, POD, "a", 100, 0);
        struct held_share *b = book_bench_put(&desk.bench, POD, "b", 100, 0);
        share_book_note_id(a, "id-a");
        share_book_note_id(b, "id-b");
        const struct control_group group = { .pod_uid = POD, .container_id = "id-b" };
        CHECK(group_share_find(desk.bench.book, &group) == b);
        CHECK_EQ(ask(&desk, POD, "id-a", 0, 0, &raised), 0);
        CHECK_EQ(ask(&desk, POD, "id-c", 0, 0, &raised), -EACCES);
        CHECK_EQ(ask(&desk, OTHER, "id-a", 0, 0, &raised), -EACCES);
        CHECK_EQ(ask(&desk, "", "id-a", 0, 0, &raised), -EACCES);
        share_book_close(desk.bench.book); /* the next agent knows it, too */
        CHECK_EQ(share_book_open(desk.bench.folder, "boot", &desk.bench.book, NULL), 0);
        desk.fit.book = desk.bench.book;
        CHECK_EQ(ask(&desk, POD, "id-b", 0, 0, &raised), 0);
        CHECK_EQ(ask(&desk, POD, "id-c", 0, 0, &raised), -EACCES);
        book_bench_close(&desk.bench);
}

TEST(without_ids_the_only_share_of_a_pod_is_found)
{
        struct desk desk;
        int raised;

        desk_open(&desk, ENV_CEILING_NONE);
        book_bench_put(&desk.bench, POD, "a", 100, 0);
        CHECK_EQ(ask(&desk, POD, "any", 0, 0, &raised), 0);
        book_bench_put(&desk.bench, POD, "b", 100, 0);
        CHECK_EQ(ask(&desk, POD, "any", 0, 0, &raised), -EACCES);
        CHECK_EQ(ask(&desk, "", "any", 0, 0, &raised), -EACCES);
        book_bench_close(&desk.bench);
}

TEST(an_environment_raises_nothing_unless_the_pod_or_the_node_lets_it)
{
        struct desk desk;
        int raised;

        desk_open(&desk, ENV_CEILING_NONE);
        struct held_share *held = book_bench_put(&desk.bench, POD, "a", 200, 10);
        CHECK_EQ(ask(&desk, POD, "x", 300, 0, &raised), 0);
        CHECK_EQ(raised, -EPERM);
        CHECK_EQ(ask(&desk, POD, "x", 0, 50, &raised), 0);
        CHECK_EQ(raised, -EPERM);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 200 * MIB);
        struct share_copy copy = *share_current(&held->share);
        copy.devices[0].limit_max_bytes = 400 * MIB;
        CHECK_EQ(share_book_change(desk.bench.book, held, &copy, NULL), 0);
        CHECK_EQ(ask(&desk, POD, "x", 300, 0, &raised), 0);
        CHECK_EQ(raised, 0);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 300 * MIB);
        CHECK_EQ(ask(&desk, POD, "x", 500, 0, &raised), 0);
        CHECK_EQ(raised, -EPERM);
        CHECK_EQ(desk.raises, 1);
        book_bench_close(&desk.bench);
}

TEST(where_the_node_lets_it_the_gpu_is_the_ceiling)
{
        struct desk desk;
        int raised;

        desk_open(&desk, ENV_CEILING_GPU);
        struct held_share *held = book_bench_put(&desk.bench, POD, "a", 200, 10);
        book_bench_put(&desk.bench, OTHER, "b", 600, 60);
        CHECK_EQ(ask(&desk, POD, "x", 401, 0, &raised), 0);
        CHECK_EQ(raised, -ENOSPC);
        CHECK_EQ(ask(&desk, POD, "x", 0, 41, &raised), 0);
        CHECK_EQ(raised, -ENOSPC);
        CHECK_EQ(ask(&desk, POD, "x", 400, 40, &raised), 0);
        CHECK_EQ(raised, 0);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 400 * MIB);
        CHECK_EQ(book_bench_device(held)->physical_bytes, 400 * MIB);
        CHECK_EQ(book_bench_device(held)->cores_percent, 40);
        CHECK_EQ(ask(&desk, POD, "x", 0, 101, &raised), 0);
        CHECK_EQ(raised, -ERANGE);
        book_bench_close(&desk.bench);
}

TEST(a_throttled_share_keeps_its_reservation_and_cannot_grow)
{
        struct desk desk;
        int raised;

        desk_open(&desk, ENV_CEILING_GPU);
        struct held_share *held = book_bench_put(&desk.bench, POD, "a", 600, 60);
        struct held_share *beside = book_bench_put(&desk.bench, OTHER, "b", 200, 20);
        tenant_throttle(desk.bench.book, held);
        CHECK_EQ(ask(&desk, POD, "x", 600, 60, &raised), 0);
        CHECK_EQ(raised, -EPERM);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 1);
        CHECK_EQ(ask(&desk, OTHER, "x", 401, 0, &raised), 0);
        CHECK_EQ(raised, -ENOSPC);
        CHECK_EQ(ask(&desk, OTHER, "x", 0, 41, &raised), 0);
        CHECK_EQ(raised, -ENOSPC);
        CHECK_EQ(ask(&desk, OTHER, "x", 400, 40, &raised), 0);
        CHECK_EQ(raised, 0);
        CHECK_EQ(book_bench_device(beside)->limit_bytes, 400 * MIB);
        tenant_release(desk.bench.book, held);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 600 * MIB);
        book_bench_close(&desk.bench);
}

TEST(a_share_is_changed_by_hand_within_its_ceilings_and_the_gpu)
{
        struct desk desk;
        struct share_copy copy;
        struct err e = { 0 };

        desk_open(&desk, ENV_CEILING_NONE);
        struct held_share *held = book_bench_put(&desk.bench, POD, "a", 200, 10);
        book_bench_put(&desk.bench, OTHER, "b", 600, 60);
        copy = *share_current(&held->share);
        copy.devices[0].limit_bytes = 100 * MIB;
        CHECK_EQ(share_fit_check(&desk.fit, held, &copy, &e), 0);
        copy.devices[0].limit_bytes = 201 * MIB;
        CHECK_EQ(share_fit_check(&desk.fit, held, &copy, &e), -ERANGE);
        copy = *share_current(&held->share);
        copy.devices[0].limit_max_bytes = 500 * MIB;
        copy.devices[0].limit_bytes = 500 * MIB;
        CHECK_EQ(share_fit_allows(&desk.fit, held, &copy, &e), -ENOSPC);
        assert_non_null(strstr(e.text, "leave 400"));
        book_bench_close(&desk.bench);
}

TEST(a_new_share_fits_beside_those_of_other_pods)
{
        struct desk desk;
        struct share_copy copy;
        struct err e = { 0 };

        desk_open(&desk, ENV_CEILING_NONE);
        struct held_share *held = book_bench_put(&desk.bench, POD, "a", 200, 10);

        book_bench_put(&desk.bench, OTHER, "b", 600, 60);
        copy = *share_current(&held->share);
        /* Another container of the pod: its own 200 MiB are not in the way. */
        copy.devices[0].limit_bytes = 400 * MIB;
        copy.devices[0].cores_percent = 40;
        CHECK_EQ(share_fit_admits(&desk.fit, &copy, &e), 0);
        copy.devices[0].limit_bytes = 401 * MIB;
        CHECK_EQ(share_fit_admits(&desk.fit, &copy, &e), -ENOSPC);
        assert_non_null(strstr(e.text, "leave 400"));
        copy.devices[0].limit_bytes = 400 * MIB;
        copy.devices[0].cores_percent = 41;
        CHECK_EQ(share_fit_admits(&desk.fit, &copy, &e), -ENOSPC);
        /* Another pod's: the first one's count too. */
        strcpy(copy.pod_uid, "third");
        copy.devices[0].cores_percent = 0;
        CHECK_EQ(share_fit_admits(&desk.fit, &copy, &e), -ENOSPC);
        copy.devices[0].limit_bytes = 200 * MIB;
        CHECK_EQ(share_fit_admits(&desk.fit, &copy, &e), 0);
        book_bench_close(&desk.bench);
}

int main(void)
{
        return RUN(CASE(a_new_share_fits_beside_those_of_other_pods),
                   CASE(a_process_belongs_to_the_container_whose_id_the_runtime_gave),
                   CASE(without_ids_the_only_share_of_a_pod_is_found),
                   CASE(an_environment_raises_nothing_unless_the_pod_or_the_node_lets_it),
                   CASE(a_throttled_share_keeps_its_reservation_and_cannot_grow),
                   CASE(where_the_node_lets_it_the_gpu_is_the_ceiling),
                   CASE(a_share_is_changed_by_hand_within_its_ceilings_and_the_gpu));
}
