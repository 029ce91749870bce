/* Which container has what. */
#include "allocation_book.h"

#include <errno.h>
#include <stdio.h>

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
        const int r = allocation_book_find(&book, uuid, pod_uid, container, &entry);

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
        allocation_book_forget(&book, "u1");
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

int main(void)
{
        return RUN(CASE(a_container_is_found_by_its_pod_and_by_its_uuid),
                   CASE(a_copied_uuid_is_the_firsts));
}
