/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as they stand on the pods: they are read again by the few who ask. */
#include "allocation_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_memory.h"
#include "json_read.h"
#include "list.h"
#include "pod_allocation.h"
#include "scope.h"
#include "str.h"

#define CONTAINER_UUIDS "vgpu.io/container-uuids"

struct book_pod;

struct book_container {
        struct hash_link link;
        struct book_container *next; /* of the pod */
        struct book_pod *pod;
        char *uuid, *name;
};

struct book_pod {
        struct hash_link link, by_name;
        char *key; /* NAMESPACE/NAME, in the table unless a pod that is not gone yet has the name */
        struct book_container *containers; /* that have a UUID */
        char uid[64], namespace_name[64];
        char *name, *text; /* the allocation, as allocation_format() has it */
};

static struct book_pod *pod_find(const struct allocation_book *book, const char *uid)
{
        struct hash_link *link = hash_find(&book->pods, uid);

        return link ? container_of(link, struct book_pod, link) : NULL;
}

static void container_free(struct book_container *container)
{
        free(container->uuid);
        free(container->name);
        free(container);
}

static void pod_free(struct allocation_book *book, struct book_pod *pod)
{
        struct book_container *container;

        while ((container = pod->containers)) {
                pod->containers = container->next;
                hash_remove(&book->containers, &container->link);
                container_free(container);
        }
        if (pod->by_name.key)
                hash_remove(&book->names, &pod->by_name);
        free(pod->key);
        free(pod->name);
        free(pod->text);
        free(pod);
}

void allocation_book_forget(struct allocation_book *book, const char *pod_uid)
{
        struct book_pod *pod = pod_find(book, pod_uid);

        if (!pod)
                return;
        hash_remove(&book->pods, &pod->link);
        pod_free(book, pod);
}

/* Where two pods have one UUID, somebody copied it: the first keeps it. */
static int container_add(struct allocation_book *book, struct book_pod *pod, const char *name,
                         const char *uuid)
{
        struct book_container *container;

        if (!uuid || hash_find(&book->containers, uuid))
                return 0;
        container = calloc(1, sizeof *container);
        if (!container)
                return -ENOMEM;
        container->uuid = strdup(uuid);
        container->name = strdup(name);
        container->pod = pod;
        if (!container->uuid || !container->name ||
            hash_add(&book->containers, &container->link, container->uuid) < 0) {
                container_free(container);
                return -ENOMEM;
        }
        container->next = pod->containers;
        pod->containers = container;
        return 0;
}

static int containers_note(struct allocation_book *book, struct book_pod *pod, const json_t *object)
{
        const char *text = json_read_annotation(object, CONTAINER_UUIDS);
        const char *name;
        int r = 0;
        json_t *uuids = text ? json_memory_load_text(text, &r) : NULL, *uuid;

        r = r == -ENOMEM ? r : 0;
        json_object_foreach (uuids, name, uuid)
                if (r == 0)
                        r = container_add(book, pod, name, json_string_value(uuid));
        json_decref(uuids);
        return r;
}

static struct book_pod *pod_new(const json_t *object, const struct allocation *allocation)
{
        struct book_pod *pod = calloc(1, sizeof *pod);
        struct pod_ref pod_ref;

        if (!pod)
                return NULL;
        pod_ref_read(object, &pod_ref);
        str_copy(pod->uid, sizeof pod->uid, pod_ref.uid);
        str_copy(pod->namespace_name, sizeof pod->namespace_name, pod_ref.namespace_name);
        pod->name = strdup(pod_ref.name);
        pod->text = allocation_format(allocation);
        if (asprintf(&pod->key, "%s/%s", pod_ref.namespace_name, pod_ref.name) < 0)
                pod->key = NULL;
        if (pod->name && pod->text && pod->key)
                return pod;
        free(pod->key);
        free(pod->name);
        free(pod->text);
        free(pod);
        return NULL;
}

/* The one who came last has the name. */
static void name_take(struct allocation_book *book, struct book_pod *pod)
{
        struct hash_link *older = hash_find(&book->names, pod->key);

        if (older) {
                hash_remove(&book->names, older);
                older->key = NULL;
        }
        if (hash_add(&book->names, &pod->by_name, pod->key) < 0)
                pod->by_name.key = NULL;
}

int allocation_book_note(struct allocation_book *book, const json_t *object)
{
        struct allocation allocation;
        struct book_pod *pod;

        if (pod_allocation_read(object, &allocation, NULL) < 0)
                return 0;
        pod = pod_new(object, &allocation);
        allocation_done(&allocation);
        if (!pod)
                return -ENOMEM;
        allocation_book_forget(book, pod->uid);
        name_take(book, pod);
        if (containers_note(book, pod, object) == 0 &&
            hash_add(&book->pods, &pod->link, pod->uid) == 0)
                return 0;
        pod_free(book, pod);
        return -ENOMEM;
}

static bool has_part(const struct allocation *allocation, const char *container)
{
        for (size_t i = 0; i < allocation->parts.count; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);

                if (strcmp(part->container, container) == 0)
                        return true;
        }
        return false;
}

static const struct book_pod *which_pod(const struct allocation_book *book,
                                        const struct allocation_which *which)
{
        char key[330];
        const struct hash_link *link;

        if (*which->pod_uid)
                return pod_find(book, which->pod_uid);
        snprintf(key, sizeof key, "%.63s/%.253s", which->namespace_name, which->pod);
        link = hash_find(&book->names, key);
        return link ? container_of(link, struct book_pod, by_name) : NULL;
}

int allocation_book_find(const struct allocation_book *book, const struct allocation_which *which,
                         struct allocation_entry *ret_entry)
{
        const bool is_named = *which->container_uuid;
        const struct hash_link *link =
                is_named ? hash_find(&book->containers, which->container_uuid) : NULL;
        const struct book_container *named =
                link ? container_of(link, struct book_container, link) : NULL;
        const struct book_pod *pod = named ? named->pod : is_named ? NULL : which_pod(book, which);
        const char *container = named ? named->name : which->container;
        struct allocation allocation;

        if (!pod)
                return -ENOENT;
        const int r = allocation_parse(pod->text, &allocation, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : -ENODATA;
        if (!has_part(&allocation, container)) {
                allocation_done(&allocation);
                return -ENODATA;
        }
        *ret_entry = (struct allocation_entry){ .pod_uid = pod->uid,
                                                .namespace_name = pod->namespace_name,
                                                .pod = pod->name,
                                                .container = container,
                                                .allocation = allocation };
        return 0;
}

void allocation_book_done(struct allocation_book *book)
{
        struct hash_link *link;

        while ((link = hash_any(&book->pods)))
                allocation_book_forget(book, link->key);
        hash_done(&book->pods);
        hash_done(&book->names);
        hash_done(&book->containers);
}
