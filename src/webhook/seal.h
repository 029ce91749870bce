/* SPDX-License-Identifier: Apache-2.0 */
/* A UUID per GPU container, by which the node asks whose share it is, and a seal on them: the API
 * server may call us again for the same pod, and then ours must stay while a user's are replaced. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        SEAL_KEY_BYTES = 32,
        SEAL_TEXT = 96,
        SEAL_LIFE_S = 60, /* a pod's admission is over by then */
};

struct seal {
        unsigned char key[SEAL_KEY_BYTES];
        uint64_t (*now_s)(void); /* the wall clock */
};

/* The seal of these UUIDs (the annotation's text) on a pod of that namespace. 0 or -EIO. */
int seal_make(const struct seal *seal, const char *pod_namespace, const char *uuids,
              char ret_text[static SEAL_TEXT]);
/* True when the seal is ours, of whatever time. */
bool seal_is_ours(const struct seal *seal, const char *pod_namespace, const char *uuids,
                  const char *text);
/* True when the seal is ours and fresh. */
bool seal_holds(const struct seal *seal, const char *pod_namespace, const char *uuids,
                const char *text);
/* A random UUID, version 4. 0 or a negative errno. */
int seal_uuid(char ret_uuid[static 37]);
