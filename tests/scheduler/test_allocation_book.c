/* SPDX-License-Identifier: Apache-2.0 */
/* Which container has what. */
#include "allocation_book.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct allocation_book book;

static void note(const char *uid, const char *uuids)
{
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"uid\":\"%s\",\"namespace\":\"ns\",\"name\":\"pod-%s\","
                 "\"annotations\":{\"vgpu.io/container-uuids\":\"%s\",\"vgpu.io/allocation\":"
                 "\"{\\\"version\\\":1,\\\"pod\\\":\\\"%s\\\",\\\"node\\\":\\\"n\\\","
                 "\\\"containers\\\":{\\\"c\\\":[{\\\"uuid\\\":\\\"GPU-1\\\",\\\"memory\\\":900,"
                 "\\\"cores\\\":30}]}}\"}},\"spec\":{\"nodeName\":\"n\"}}",
                 uid, uid, uuids, uid);
        json_t *pod = json_loads(text, 0, NULL);

        CHECK(pod != NULL);
        CHECK_EQ(allocation_book_note(&book, pod), 0);
        json_decref(pod);
}

static int find(const char *uuid, const char *pod_uid, const char *container, const char *expected)
{
        struct allocation_entry entry;
        const struct allocation_which which = { .container_uuid = uuid,
                                                .pod_uid = strchr(pod_uid, '/') ? "" : pod_uid,
                                                .namespace_name = "ns",
                                                .pod = strchr(pod_uid, '/') ? pod_uid + 3 : "",
                                                .container = container };
        const int r = allocation_book_find(&book, &which, &entry);

        if (r < 0)
                return r;
        CHECK_STR(entry.pod_uid, expected);
        CHECK_STR(entry.container, "c");
        CHECK_EQ(((struct allocation_part *)vec_at(&entry.allocation.parts, 0))->memory_mib, 900);
        allocation_done(&entry.allocation);
        return 0;
}

TEST(a_container_is_found_by_its_pod_and_by_its_uuid)
{
        note("u1", "{\\\"c\\\":\\\"x1\\\"}");
        note("u1", "{\\\"c\\\":\\\"x1\\\"}"); /* told again */
        note("u2", "no JSON");
        CHECK_EQ(find("", "u1", "c", "u1"), 0);
        CHECK_EQ(find("x1", "", "", "u1"), 0);
        CHECK_EQ(find("", "u2", "c", "u2"), 0);
        CHECK_EQ(find("", "u1", "other", ""), -ENODATA);
        CHECK_EQ(find("", "u3", "c", ""), -ENOENT);
        CHECK_EQ(find("x2", "u1", "c", ""), -ENOENT); /* the UUID alone counts */
        CHECK_EQ(find("", "ns/pod-u1", "c", "u1"), 0);
        CHECK_EQ(find("", "ns/pod-u3", "c", ""), -ENOENT);
        allocation_book_forget(&book, "u1");
        CHECK_EQ(find("", "ns/pod-u1", "c", ""), -ENOENT);
        CHECK_EQ(find("x1", "", "", ""), -ENOENT);
        CHECK_EQ(find("", "u1", "c", ""), -ENOENT);
        allocation_book_done(&book);
}

TEST(a_copied_uuid_is_the_firsts)
{
        note("u1", "{\\\"c\\\":\\\"x1\\\"}");
        note("u2", "{\\\"c\\\":\\\"x1\\\"}");
        CHECK_EQ(find("x1", "", "", "u1"), 0);
        allocation_book_forget(&book, "u2");
        CHECK_EQ(find("x1", "", "", "u1"), 0);
        allocation_book_done(&book);
}

/* A StatefulSet's pod, deleted and made again: the old one may be told of last. */
TEST(a_reused_name_belongs_to_the_newest)
{
        note("u1", "");
        json_t *again =
                json_pack("{s:{s:s,s:s,s:s,s:{s:s}},s:{s:s}}", "metadata", "uid", "u9", "namespace",
                          "ns", "name", "pod-u1", "annotations", "vgpu.io/allocation",
                          "{\"version\":1,\"pod\":\"u9\",\"node\":\"n\",\"containers\":"
                          "{\"c\":[{\"uuid\":\"GPU-1\",\"memory\":900,\"cores\":30}]}}",
                          "spec", "nodeName", "n");

        CHECK_EQ(allocation_book_note(&book, again), 0);
        json_decref(again);
        CHECK_EQ(find("", "ns/pod-u1", "c", "u9"), 0);
        allocation_book_forget(&book, "u1");
        CHECK_EQ(find("", "ns/pod-u1", "c", "u9"), 0);
        allocation_book_forget(&book, "u9");
        CHECK_EQ(find("", "ns/pod-u1", "c", ""), -ENOENT);
        allocation_book_done(&book);
}

int main(void)
{
        return RUN(CASE(a_container_is_found_by_its_pod_and_by_its_uuid),
                   CASE(a_copied_uuid_is_the_firsts), CASE(a_reused_name_belongs_to_the_newest));
}
