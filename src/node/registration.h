/* registration: keeps the annotations of this Node as they should be, and writes them only when they
 * are not. */
#pragma once

#include "err.h"
#include "kube_watch.h"

struct registration;

/* The texts become the registration's, also on failure. Trouble is logged; it goes on trying. */
int registration_new(struct kube_client *client, const char *node_name, char *devices, char *config,
                     char *links, struct registration **ret_registration);
/* Other GPUs, or another state of theirs; the texts become the registration's. No devices: nothing is
 * changed; links may be none. */
void registration_set(struct registration *registration, char *devices, char *links);
void registration_free(struct registration *registration); /* NULL is fine */
struct kube_watch_state registration_state(const struct registration *registration);
