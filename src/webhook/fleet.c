/* SPDX-License-Identifier: Apache-2.0 */
/* The largest GPU of the cluster. */
#include "fleet.h"

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_read.h"
#include "list.h"
#include "log.h"
#include "node_devices.h"

enum { PAGE = 20, AGAIN_S = 300, TOKEN = 1024 };

struct fleet {
        struct kube_client *client;
        struct kube_call *call;
        struct timer again;
        char token[TOKEN];    /* of the next page; "": the first */
        uint64_t largest_mib; /* as told */
        uint64_t passing_mib; /* of this pass so far */
        bool is_troubled;     /* said so already */
        void (*on_change)(void *owner, uint64_t largest_mib);
        void *owner;
};

static void page_ask(struct fleet *fleet);

static void pass_later(struct fleet *fleet)
{
        *fleet->token = '\0';
        fleet->passing_mib = 0;
        malloc_trim(0); /* of thousands of nodes one figure is left */
        loop_timer_set(kube_client_loop(fleet->client), &fleet->again, AGAIN_S * NS_PER_S);
}

static void on_again(struct timer *timer)
{
        page_ask(container_of(timer, struct fleet, again));
}

static uint64_t devices_largest(const json_t *node)
{
        const char *text = json_read_annotation(node, "nvidia.com/node-device-register");
        uint64_t largest = 0;
        struct vec devices;

        if (!text || node_devices_parse(text, &devices, NULL) < 0)
                return 0;
        for (size_t i = 0; i < devices.count; i++) {
                const struct node_device *device = vec_at(&devices, i);

                largest = device->memory_mib > largest ? device->memory_mib : largest;
        }
        vec_done(&devices);
        return largest;
}

/* The token as a query has it; one that is too long begins no further page. */
static void token_take(struct fleet *fleet, const char *token)
{
        size_t length = 0;

        *fleet->token = '\0';
        for (; *token && length + 4 < TOKEN; token++)
                if (isalnum((unsigned char)*token) || strchr("-._~", *token))
                        fleet->token[length++] = *token;
                else
                        length += (size_t)snprintf(fleet->token + length, 4, "%%%02X",
                                                   (unsigned char)*token);
        fleet->token[*token ? 0 : length] = '\0';
}

static void pass_end(struct fleet *fleet)
{
        if (fleet->passing_mib != fleet->largest_mib) {
                fleet->largest_mib = fleet->passing_mib;
                fleet->on_change(fleet->owner, fleet->largest_mib);
        }
        pass_later(fleet);
}

static void on_page(void *owner, const struct kube_answer *answer)
{
        struct fleet *fleet = owner;
        const json_t *items = json_object_get(answer->body, "items"), *node;
        const char *token =
                json_read_text_or_null(json_object_get(answer->body, "metadata"), "continue");
        size_t i;

        fleet->call = NULL;
        if (answer->status != 200) {
                if (!fleet->is_troubled)
                        log_warn("cannot list nodes: no warnings about oversized requests: %s",
                                 answer->message);
                fleet->is_troubled = true;
                return pass_later(fleet);
        }
        fleet->is_troubled = false;
        json_array_foreach (items, i, node) {
                const uint64_t mib = devices_largest(node);

                fleet->passing_mib = mib > fleet->passing_mib ? mib : fleet->passing_mib;
        }
        token_take(fleet, token ? token : "");
        if (*fleet->token)
                page_ask(fleet);
        else
                pass_end(fleet);
}

static void page_ask(struct fleet *fleet)
{
        char path[TOKEN + 64];
        const struct kube_request request = { .method = "GET", .path = path };

        snprintf(path, sizeof path, "/api/v1/nodes?limit=%d%s%s", PAGE,
                 *fleet->token ? "&continue=" : "", fleet->token);
        if (kube_client_call(fleet->client, &request, on_page, fleet, &fleet->call) < 0)
                pass_later(fleet);
}

int fleet_new(struct kube_client *client, void (*on_change)(void *owner, uint64_t largest_mib),
              void *owner, struct fleet **ret_fleet)
{
        struct fleet *fleet = calloc(1, sizeof *fleet);

        if (!fleet)
                return -ENOMEM;
        *fleet = (struct fleet){ .client = client,
                                 .again = { .on_due = on_again },
                                 .on_change = on_change,
                                 .owner = owner };
        page_ask(fleet);
        *ret_fleet = fleet;
        return 0;
}

void fleet_free(struct fleet *fleet)
{
        if (!fleet)
                return;
        if (fleet->call)
                kube_call_cancel(fleet->call);
        loop_timer_clear(kube_client_loop(fleet->client), &fleet->again);
        free(fleet);
}
