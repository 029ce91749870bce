/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of kube_changes: objects in, changes out. */
#include "kube_changes.h"

#include <stdio.h>
#include <string.h>

#include "str.h"
#include "unit.h"

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *object)
{
        str_appendf(owner, "%c%s%s ", "+~-"[change], name -> name, object ? "" : "!");
}

static void note(struct kube_changes *changes, const char *name, const char *uid,
                 const char *version)
{
        json_t *object = json_pack("{s:{s:s,s:s,s:s}}", "metadata", "name", name, "uid", uid,
                                   "resourceVersion", version);

        CHECK_EQ(kube_changes_note(changes, object), 0);
        json_decref(object);
}

TEST(an_object_is_added_once_modified_if_it_was_and_deleted)
{
        struct str told = { 0 };
        struct kube_changes changes = { .on_change = on_change, .owner = &told };

        kube_changes_begin(&changes);
        note(&changes, "a", "1", "5");
        note(&changes, "a", "1", "5");
        note(&changes, "a", "1", "6");
        note(&changes, "b", "2", "7");
        note(&changes, "a", "9", "8");
        kube_changes_begin(&changes);
        note(&changes, "a", "9", "8");
        kube_changes_sweep(&changes);
        CHECK_STR(told.text, "+a ~a +b -a! +a -b! ");
        kube_changes_done(&changes);
        str_done(&told);
}

/* Its owner had no memory for it. */
static void on_change_doubt(void *owner, enum kube_change change, const struct kube_name *name,
                            const json_t *object)
{
        struct kube_changes *changes = owner;

        (void)change;
        (void)object;
        changes->on_change = on_change;
        kube_changes_doubt(changes);
        CHECK_STR(name->name, "a");
}

TEST(what_was_told_in_vain_is_told_again)
{
        struct str told = { 0 };
        struct kube_changes changes = { .on_change = on_change, .owner = &told };

        note(&changes, "b", "2", "7");
        changes.on_change = on_change_doubt;
        changes.owner = &changes;
        note(&changes, "a", "1", "5");
        changes.owner = &told;
        note(&changes, "a", "1", "5");
        note(&changes, "b", "2", "7");
        note(&changes, "a", "1", "5");
        CHECK_STR(told.text, "+b ~a ~b ");
        kube_changes_done(&changes);
        str_done(&told);
}

TEST(ten_thousand_are_kept_apart)
{
        struct str told = { 0 };
        struct kube_changes changes = { .on_change = on_change, .owner = &told };
        char name[16];

        kube_changes_begin(&changes);
        for (unsigned i = 0; i < 10000; i++) {
                snprintf(name, sizeof name, "pod-%u", i);
                note(&changes, name, name, "1");
        }
        CHECK_EQ(changes.known.count, 10000);
        told.length = 0;
        kube_changes_begin(&changes);
        for (unsigned i = 0; i < 10000; i++) {
                snprintf(name, sizeof name, "pod-%u", i);
                if (i != 4321)
                        note(&changes, name, name, "1");
        }
        kube_changes_sweep(&changes);
        CHECK_STR(told.text, "-pod-4321! ");
        kube_changes_done(&changes);
        str_done(&told);
}

TEST(what_has_no_name_is_no_object)
{
        struct str told = { 0 };
        struct kube_changes changes = { .on_change = on_change, .owner = &told };
        json_t *object = json_pack("{s:{s:s}}", "metadata", "resourceVersion", "1");

        CHECK(kube_changes_note(&changes, object) < 0);
        CHECK(kube_changes_delete(&changes, object) < 0);
        CHECK(kube_changes_note(&changes, NULL) < 0);
        json_decref(object);
        kube_changes_done(&changes);
}

int main(void)
{
        return RUN(CASE(an_object_is_added_once_modified_if_it_was_and_deleted),
                   CASE(what_was_told_in_vain_is_told_again), CASE(ten_thousand_are_kept_apart),
                   CASE(what_has_no_name_is_no_object));
}
