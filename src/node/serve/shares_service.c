/* SPDX-License-Identifier: Apache-2.0 */
/* List, Set and Watch. */
#include "shares_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arbiter_lock.h"
#include "clock.h"
#include "gpu_message.h"
#include "log.h"
#include "share_compute.h"
#include "share_match.h"
#include "share_memory.h"
#include "share_message.h"
#include "vec.h"

enum { AGAIN_MS = 1000 };

/* Ends the call if it is not root's, or of whom the agent itself runs as. */
static bool is_allowed(struct grpc_call *call)
{
        struct ucred peer;

        if (grpc_peer(call, &peer) == 0 && (peer.uid == 0 || peer.uid == geteuid()))
                return true;
        grpc_finish(call, GRPC_PERMISSION_DENIED, "only root may see and change the node's shares");
        return false;
}

struct listing {
        Vgpu__V1__ListSharesResponse message;
        struct node_usage *usage;
        struct vec shares; /* of Vgpu__V1__Share * */
        struct vec gpus;   /* of Vgpu__V1__Gpu * */
        bool is_partial;   /* there was no memory for all */
};

static void list_shown(void *owner, const struct shown_share *shown)
{
        struct listing *listing = owner;
        Vgpu__V1__Share *share = share_message_new(shown, listing->usage);

        if (share && vec_push(&listing->shares, &share) == 0)
                return;
        share_message_free(share);
        listing->is_partial = true;
}

static void list_held(void *owner, struct held_share *held)
{
        const struct shown_share shown = shown_share_of(held);

        list_shown(owner, &shown);
}

static uint64_t time_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void list_gpus(struct listing *listing)
{
        const struct device_usage *device;

        for (size_t i = 0; (device = node_usage_device(listing->usage, i)); i++) {
                Vgpu__V1__Gpu *gpu =
                        gpu_message_new(device, listing->shares.items, listing->shares.count);

                if (gpu && vec_push(&listing->gpus, &gpu) == 0)
                        continue;
                gpu_message_free(gpu);
                listing->is_partial = true;
        }
}

/* Containers' first, then users'. */
static void list_make(struct shares_service *service, struct listing *ret_listing)
{
        struct share_book *book = service->fit->book;
        struct listing listing = { .message = VGPU__V1__LIST_SHARES_RESPONSE__INIT,
                                   .usage = service->usage,
                                   .shares = VEC_OF(Vgpu__V1__Share *),
                                   .gpus = VEC_OF(Vgpu__V1__Gpu *) };

        share_book_each(book, list_held, &listing);
        share_book_trim(book);
        shown_shares_of_users(list_shown, &listing);
        list_gpus(&listing);
        listing.message.n_gpus = listing.gpus.count;
        listing.message.gpus = listing.gpus.items;
        listing.message.n_shares = listing.shares.count;
        listing.message.time_ns = time_now_ns();
        listing.message.shares = listing.shares.items;
        *ret_listing = listing;
}

static void list_free(struct listing *listing)
{
        for (size_t i = 0; i < listing->message.n_shares; i++)
                share_message_free(listing->message.shares[i]);
        for (size_t i = 0; i < listing->message.n_gpus; i++)
                gpu_message_free(listing->message.gpus[i]);
        vec_done(&listing->shares);
        vec_done(&listing->gpus);
}

static void serve_list(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        struct listing listing;

        (void)request;
        if (!is_allowed(call))
                return;
        list_make(owner, &listing);
        if (listing.is_partial)
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        else
                grpc_answer(call, &listing.message.base);
        list_free(&listing);
}

static void tell_watchers(struct shares_service *service)
{
        struct listing listing;
        bool is_watched = false;

        for (unsigned i = 0; i < SHARES_WATCHERS_MOST; i++)
                is_watched |= service->watchers[i].call != NULL;
        if (!is_watched)
                return;
        list_make(service, &listing);
        for (unsigned i = 0; i < SHARES_WATCHERS_MOST; i++)
                if (service->watchers[i].call && !listing.is_partial)
                        grpc_send(service->watchers[i].call, &listing.message.base);
        list_free(&listing);
        loop_timer_set(service->loop, &service->again, AGAIN_MS * NS_PER_MS);
}

static void on_again(struct timer *timer)
{
        tell_watchers(container_of(timer, struct shares_service, again));
}

static void on_gone(void *owner)
{
        struct shares_watcher *watcher = owner;

        watcher->call = NULL;
}

static void serve_watch(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        struct shares_service *service = owner;
        unsigned i = 0;

        (void)request;
        if (!is_allowed(call))
                return;
        while (i < SHARES_WATCHERS_MOST && service->watchers[i].call)
                i++;
        if (i == SHARES_WATCHERS_MOST) {
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many clients watch already");
                return;
        }
        service->watchers[i] = (struct shares_watcher){ service, call };
        grpc_on_gone(call, on_gone, &service->watchers[i]);
        tell_watchers(service);
}

static void on_share(struct share_listener *listener, enum share_change change,
                     struct held_share *held)
{
        struct shares_service *service = container_of(listener, struct shares_service, listener);

        (void)held;
        if (change != SHARE_GONE) /* it is still there; the next check is soon */
                tell_watchers(service);
}

/* A client may send any number. */
static enum share_tristate tristate_of(Vgpu__V1__Tristate flag)
{
        switch (flag) {
        case VGPU__V1__TRISTATE__YES:
                return SHARE_YES;
        case VGPU__V1__TRISTATE__NO:
                return SHARE_NO;
        default:
                return SHARE_UNSET;
        }
}

/* One row of a request, put into a device. */
static int row_put(const Vgpu__V1__SetShareRequest *request, const Vgpu__V1__DeviceShare *row,
                   struct share_device *device, struct err *e)
{
        const struct share_memory memory = {
                .bytes = row->limit_bytes,
                .ratio = request->memory_ratio >= 1 ? request->memory_ratio : 0,
                .host_bytes = request->oversold_host_bytes,
                .is_oversold = tristate_of(request->oversold),
        };
        const struct share_compute compute = {
                .has_cores = request->has_cores,
                .has_most = request->has_cores_max,
                .cores_percent = row->cores_percent,
                .most_percent = row->cores_max_percent,
                .is_latency = tristate_of(request->latency),
                .copies_count = tristate_of(request->copies_count),
        };

        if (row->cores_percent > 100 || row->cores_max_percent > 100)
                return err_set(e, -EINVAL, "cores must be at most 100 percent of a GPU's time");
        share_memory_put(&memory, device);
        return share_compute_put(&compute, device, e);
}

static int request_put(const Vgpu__V1__SetShareRequest *request, struct share_copy *copy,
                       struct err *e)
{
        int r = 0;

        for (size_t i = 0; i < request->n_gpus && r == 0; i++) {
                const Vgpu__V1__DeviceShare *row = request->gpus[i];
                bool is_named = !*row->uuid;

                for (unsigned j = 0; j < copy->device_count && r == 0; j++) {
                        if (*row->uuid && strcmp(row->uuid, copy->devices[j].uuid) != 0)
                                continue;
                        is_named = true;
                        r = row_put(request, row, &copy->devices[j], e);
                }
                if (r == 0 && !is_named)
                        r = err_set(e, -ENODEV, "the share does not use GPU '%.60s'", row->uuid);
        }
        return r;
}

static int held_set(struct shares_service *service, const Vgpu__V1__SetShareRequest *request,
                    struct held_share *held, struct err *e)
{
        struct share_copy copy;

        memcpy(&copy, share_current(&held->share), sizeof copy);
        int r = request_put(request, &copy, e);
        if (r == 0)
                r = share_fit_check(service->fit, held, &copy, e);
        return r < 0 ? r : share_book_change(service->fit->book, held, &copy, e);
}

/* As its user could: what users run is held to no sum. */
static int user_set(const Vgpu__V1__SetShareRequest *request, const struct user_share *share,
                    struct err *e)
{
        struct share_copy copy;
        struct arbiter_lock lock;
        int r = user_share_read(share, &copy, e);

        if (r == 0)
                r = request_put(request, &copy, e);
        if (r == 0)
                r = user_share_change(share, &copy, e);
        if (r == 0 && arbiter_lock_open_of(share->root, share->user, &lock) == 0) {
                arbiter_lock_ring(&lock); /* others may need time slices now */
                arbiter_lock_close(&lock);
        }
        return r;
}

static enum grpc_status status_of(int code)
{
        switch (code) {
        case -ENOENT:
        case -ENODEV:
                return GRPC_NOT_FOUND;
        case -ENOSPC:
                return GRPC_RESOURCE_EXHAUSTED;
        case -ERANGE:
                return GRPC_OUT_OF_RANGE;
        case -ENOTUNIQ:
                return GRPC_FAILED_PRECONDITION;
        case -EAGAIN:
                return GRPC_UNAVAILABLE;
        case -EINVAL:
                return GRPC_INVALID_ARGUMENT;
        default:
                return GRPC_INTERNAL;
        }
}

static void answer_share(void *owner, const struct shown_share *shown)
{
        Vgpu__V1__SetShareResponse answer = VGPU__V1__SET_SHARE_RESPONSE__INIT;

        answer.share = share_message_new(shown, NULL);
        grpc_answer(owner, &answer.base);
        share_message_free(answer.share);
}

static void held_answer(struct shares_service *service, struct grpc_call *call,
                        struct held_share *held)
{
        const struct shown_share shown = shown_share_of(held);

        if (*held->pod)
                log_info("share '%s' of %s/%s was changed by hand", held->name, held->pod_namespace,
                         held->pod);
        else
                log_info("share '%s' was changed by hand", shown.name);
        if (service->on_set)
                service->on_set(service->owner, held);
        answer_share(call, &shown);
}

static void serve_set(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        const Vgpu__V1__SetShareRequest *wish = (const Vgpu__V1__SetShareRequest *)request;
        struct shares_service *service = owner;
        struct share_match match;
        struct err e = { 0 };

        if (!is_allowed(call))
                return;
        int r = share_match_find(service->fit->book, wish->name, &match, &e);
        if (r < 0) {
                grpc_finish(call, status_of(r), e.text);
                return;
        }
        r = match.held ? held_set(service, wish, match.held, &e) : user_set(wish, &match.user, &e);
        if (r < 0) {
                grpc_finish(call, status_of(r), e.text);
        } else if (match.held) {
                held_answer(service, call, match.held);
        } else {
                log_info("share '%s' of %s was changed by hand", match.user.name,
                         match.user.user_name);
                shown_share_visit_user(&match.user, answer_share, call);
        }
        share_match_done(&match);
}

const struct grpc_method shares_service_methods[] = {
        { "/vgpu.v1.Shares/List", &vgpu__v1__list_shares_request__descriptor, serve_list },
        { "/vgpu.v1.Shares/Set", &vgpu__v1__set_share_request__descriptor, serve_set },
        { "/vgpu.v1.Shares/Watch", &vgpu__v1__watch_shares_request__descriptor, serve_watch },
        { 0 },
};

void shares_service_init(struct shares_service *service)
{
        service->listener.on_share = on_share;
        service->again.on_due = on_again;
        share_book_listen(service->fit->book, &service->listener);
}

void shares_service_done(struct shares_service *service)
{
        share_book_unlisten(&service->listener);
        loop_timer_clear(service->loop, &service->again);
}
