/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: kubeconfig files, lists and watches. A stream in pieces gives the same values as the
 * stream at once, and each value goes the way of an event and of an object. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "json_stream.h"
#include "json_text.h"
#include "kube_changes.h"
#include "kube_config.h"
#include "kube_object.h"

const char *const fuzz_words[] = { "{\"type\":\"ADDED\",\"object\":",
                                   "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}",
                                   "\"items\":[",
                                   "current-context: ",
                                   "clusters:\n- name: ",
                                   "server: https://",
                                   "\n  ",
                                   "users:",
                                   "\\u0000",
                                   NULL };

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *object)
{
        (void)owner;
        (void)change;
        (void)object;
        if (!name->name || !name->uid || !name->namespace_name)
                abort();
}

static int on_value(void *owner, const char *text, size_t count)
{
        struct kube_changes changes = { .on_change = on_change };
        struct kube_glimpse seen;
        bool is_tamed;
        json_t *value = kube_object_load(text, count, &is_tamed, NULL);

        kube_object_glimpse(text, count, false, &seen);
        kube_object_glimpse(text, count, true, &seen);
        *(uint64_t *)owner = *(uint64_t *)owner * 31 + kube_digest(text);
        kube_changes_note(&changes, value);
        kube_changes_note(&changes, json_object_get(value, "object"));
        kube_changes_delete(&changes, value);
        kube_changes_begin(&changes);
        kube_changes_sweep(&changes);
        kube_changes_done(&changes);
        json_decref(value);
        return 0;
}

static uint64_t read_stream(const uint8_t *bytes, size_t count, size_t step, bool is_list)
{
        struct json_stream stream = { .is_list = is_list, .limit_bytes = 1 << 16 };
        uint64_t digest = 0;
        int r = 0;

        for (size_t at = 0; at < count && r == 0; at += step)
                r = json_stream_take(&stream, bytes + at, step < count - at ? step : count - at,
                                     on_value, &digest);
        json_stream_done(&stream);
        return digest;
}

/* Of JSON something is left that is JSON. */
static void prune(const char *text, size_t count)
{
        static const char *const names[] = { "a", "metadata", "type", NULL };
        json_t *whole = json_loadb(text, count, 0, NULL), *kept = NULL;
        struct str pruned = { 0 };

        if (json_text_without(text, count, names, &pruned) == 0 && pruned.text)
                kept = json_loadb(pruned.text, pruned.length, 0, NULL);
        if (whole && !kept)
                abort();
        json_decref(whole);
        json_decref(kept);
        str_done(&pruned);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        struct kube_config config;
        struct err e;

        for (int is_list = 0; is_list < 2; is_list++)
                if (read_stream(bytes, count, count + 1, is_list) !=
                    read_stream(bytes, count, 3, is_list))
                        abort();
        prune((const char *)bytes, count);
        if (kube_config_parse(text, "/nowhere", &config, &e) == 0) {
                if (!config.host || !config.port || !config.path)
                        abort();
                kube_config_done(&config);
        }
        free(text);
}
