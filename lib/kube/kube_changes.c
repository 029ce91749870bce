/* SPDX-License-Identifier: Apache-2.0 */
/* What changed, by comparison with what was told before. */
#include "kube_changes.h"

#include <errno.h>
#include <string.h>

#include "json_read.h"

static void tell(struct kube_changes *changes, enum kube_change change,
                 const struct kube_name *name, const json_t *object)
{
        if (!changes->is_muted)
                changes->on_change(changes->owner, change, name, object);
}

static int name_of(const json_t *object, struct kube_name *ret_name, const char **ret_version)
{
        const json_t *metadata = json_object_get(object, "metadata");

        *ret_name = (struct kube_name){ .namespace_name = json_read_text(metadata, "namespace"),
                                        .name = json_read_text(metadata, "name"),
                                        .uid = json_read_text(metadata, "uid") };
        *ret_version = json_read_text(metadata, "resourceVersion");
        return *ret_name->name && **ret_version ? 0 : -EPROTO;
}

static void entry_delete(struct kube_changes *changes, struct kube_entry *entry,
                         const json_t *object)
{
        tell(changes, KUBE_DELETED, &entry->name, object);
        kube_known_remove(&changes->known, entry);
}

int kube_changes_note(struct kube_changes *changes, const json_t *object)
{
        struct kube_name name;
        const char *version;
        struct kube_entry *entry;
        int r = name_of(object, &name, &version);

        if (r < 0)
                return r;
        entry = kube_known_find(&changes->known, name.namespace_name, name.name);
        if (entry && strcmp(entry->name.uid, name.uid) != 0) {
                entry_delete(changes, entry, NULL);
                entry = NULL;
        }
        const unsigned doubts = changes->doubts;
        if (!entry) {
                entry = kube_known_add(&changes->known, &name);
                if (!entry)
                        return -ENOMEM;
                tell(changes, KUBE_ADDED, &entry->name, object);
        } else if (entry->version != kube_digest(version)) {
                tell(changes, KUBE_MODIFIED, &entry->name, object);
        }
        entry->version = doubts == changes->doubts ? kube_digest(version) : 0;
        entry->round = changes->round;
        return 0;
}

int kube_changes_delete(struct kube_changes *changes, const json_t *object)
{
        struct kube_name name;
        const char *version;
        struct kube_entry *entry;
        int r = name_of(object, &name, &version);

        if (r < 0)
                return r;
        entry = kube_known_find(&changes->known, name.namespace_name, name.name);
        if (entry)
                entry_delete(changes, entry, object);
        return 0;
}

void kube_changes_keep(struct kube_changes *changes, const struct kube_name *name)
{
        struct kube_entry *entry =
                kube_known_find(&changes->known, name->namespace_name, name->name);

        if (entry && strcmp(entry->name.uid, name->uid) == 0)
                entry->round = changes->round;
        else if (entry && *name->uid)
                entry_delete(changes, entry, NULL); /* another has its name now */
}

void kube_changes_drop(struct kube_changes *changes, const struct kube_name *name)
{
        struct kube_entry *entry =
                kube_known_find(&changes->known, name->namespace_name, name->name);

        if (entry)
                entry_delete(changes, entry, NULL);
}

void kube_changes_begin(struct kube_changes *changes)
{
        changes->round++;
}

void kube_changes_sweep(struct kube_changes *changes)
{
        struct kube_entry *entry;
        size_t at = 0;

        while ((entry = kube_known_stale(&changes->known, changes->round, &at)))
                entry_delete(changes, entry, NULL);
}

void kube_changes_doubt(struct kube_changes *changes)
{
        changes->doubts++;
        kube_known_doubt(&changes->known);
}

void kube_changes_done(struct kube_changes *changes)
{
        kube_known_done(&changes->known);
}
