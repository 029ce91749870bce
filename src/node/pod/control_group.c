/* SPDX-License-Identifier: Apache-2.0 */
/* The names of control groups. Seen from the root, the first pod counts and the group right below it;
 * where there is no pod, the first that is named like a container:
 *
 *      /kubepods/burstable/pod<uid>/<id>
 *      /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/crio-<id>.scope
 *      /system.slice/containerd.service/kubepods-burstable-pod<uid>.slice:cri-containerd:<id>
 *      /docker/<id>    /system.slice/docker-<id>.scope    /machine.slice/libpod-<id>.scope
 *
 * In systemd's form the dashes of a UID are underscores. */
#include "control_group.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "scope.h"
#include "str.h"

enum { ID_LETTERS = 64, UID_LEAST = 32, UID_MOST = 36 };

struct segment {
        const char *text;
        size_t length;
};

static bool segment_begins(const struct segment *segment, const char *name)
{
        const size_t length = strlen(name);

        return segment->length >= length && memcmp(segment->text, name, length) == 0;
}

static bool segment_ends(const struct segment *segment, const char *name)
{
        const size_t length = strlen(name);

        return segment->length >= length &&
               memcmp(segment->text + segment->length - length, name, length) == 0;
}

/* Letters of a hexadecimal number in small letters, or one of `more`. */
static bool is_hexadecimal(const char *text, size_t length, const char *more)
{
        for (size_t i = 0; i < length; i++)
                if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f') &&
                    (!text[i] || !strchr(more, text[i])))
                        return false;
        return true;
}

/* "pod<uid>" or "kubepods-…-pod<uid>.slice". */
static bool pod_take(struct segment segment, char ret_uid[64])
{
        const char *begin = segment.text;

        if (segment_ends(&segment, ".slice")) {
                segment.length -= strlen(".slice");
                for (size_t i = 0; i + 4 < segment.length; i++)
                        if (memcmp(segment.text + i, "-pod", 4) == 0)
                                begin = segment.text + i + 1;
        }
        const size_t length = segment.length - (size_t)(begin - segment.text);

        if (length < 3 + UID_LEAST || length > 3 + UID_MOST || memcmp(begin, "pod", 3) != 0 ||
            !is_hexadecimal(begin + 3, length - 3, "-_"))
                return false;
        snprintf(ret_uid, 64, "%.*s", (int)length - 3, begin + 3);
        for (char *c = ret_uid; *c; c++)
                if (*c == '_')
                        *c = '-';
        return true;
}

/* "<id>", "docker-<id>.scope"; what watches over a container ("crio-conmon-<id>") is not it. */
static bool id_take(struct segment segment, char ret_id[128])
{
        static const char *const makers[] = { "cri-containerd-", "crio-",    "docker-",
                                              "libpod-",         "nerdctl-", NULL };

        if (segment_ends(&segment, ".scope"))
                segment.length -= strlen(".scope");
        for (const char *const *maker = makers; *maker; maker++)
                if (segment_begins(&segment, *maker)) {
                        segment.text += strlen(*maker);
                        segment.length -= strlen(*maker);
                        break;
                }
        if (segment.length != ID_LETTERS || !is_hexadecimal(segment.text, segment.length, ""))
                return false;
        snprintf(ret_id, 128, "%.*s", (int)segment.length, segment.text);
        return true;
}

/* Names that people give to containers of their own: the group is called like the container. */
static bool name_take(const struct segment *segment, char ret_id[128])
{
        size_t length = segment->length;

        if (segment_ends(segment, ".scope"))
                length -= strlen(".scope");
        if (length == 0 || length >= 128 || segment_ends(segment, ".slice") ||
            segment_ends(segment, ".service") || segment->text[0] == '.')
                return false;
        for (size_t i = 0; i < length; i++)
                if (!isalnum((unsigned char)segment->text[i]) && !strchr("_.+-", segment->text[i]))
                        return false;
        snprintf(ret_id, 128, "%.*s", (int)length, segment->text);
        return true;
}

/* containerd without systemd joins the two names with its own between them. */
static bool joined_take(const struct segment *segment, struct control_group *group)
{
        const char *colon = memchr(segment->text, ':', segment->length);
        struct segment pod, id;

        if (!colon)
                return false;
        pod = (struct segment){ segment->text, (size_t)(colon - segment->text) };
        id = (struct segment){ colon + 1, segment->length - pod.length - 1 };
        while ((colon = memchr(id.text, ':', id.length))) {
                id.length -= (size_t)(colon + 1 - id.text);
                id.text = colon + 1;
        }
        if (!pod_take(pod, group->pod_uid) || !id_take(id, group->container_id)) {
                group->pod_uid[0] = '\0';
                return false;
        }
        return true;
}

/* "user@1000.service": systemd leaves all below it to that user. */
static bool is_users(const struct segment *segment)
{
        static const char before[] = "user@", after[] = ".service";
        const size_t around = strlen(before) + strlen(after);

        if (!segment_begins(segment, before) || !segment_ends(segment, after) ||
            segment->length <= around)
                return false;
        const char *user = segment->text + strlen(before);
        return segment->length - around != 1 || *user != '0';
}

static bool segment_next(const char **path, struct segment *ret_segment)
{
        *path += strspn(*path, "/");
        *ret_segment = (struct segment){ *path, strcspn(*path, "/\n") };
        *path += ret_segment->length;
        return ret_segment->length > 0;
}

bool control_group_is_left(const char *text)
{
        struct segment segment;

        for (; *text; text += *text == '\n')
                while (segment_next(&text, &segment))
                        if (is_users(&segment))
                                return true;
        return false;
}

static void parent_note(const char *path, const struct segment *segment,
                        struct control_group *group)
{
        snprintf(group->parent, sizeof group->parent, "%.*s", (int)(segment->text - path), path);
}

/* The path of one line. */
static bool path_take(const char *const path, struct control_group *ret_group)
{
        struct control_group group = { 0 }, own = { 0 };
        struct segment segment;
        const char *at = path;

        while (segment_next(&at, &segment)) {
                if (is_users(&segment))
                        break;
                if (group.pod_uid[0]) { /* right below a pod: its container, or nothing of ours */
                        if (!id_take(segment, group.container_id))
                                return false;
                        parent_note(path, &segment, &group);
                        *ret_group = group;
                        return true;
                }
                if (joined_take(&segment, &group)) {
                        parent_note(path, &segment, &group);
                        *ret_group = group;
                        return true;
                }
                if (!pod_take(segment, group.pod_uid) && !own.container_id[0] &&
                    id_take(segment, own.container_id))
                        parent_note(path, &segment, &own);
        }
        if (group.pod_uid[0])
                return false; /* of the pod, and of none of its containers */
        *ret_group = own;
        return own.container_id[0] != '\0';
}

/* The last name of the path; "/" has none. */
static bool path_name(const char *const path, struct control_group *ret_group)
{
        struct control_group group = { 0 };
        struct segment segment, last = { 0 };
        const char *at = path;

        while (segment_next(&at, &segment)) {
                if (is_users(&segment))
                        return false;
                last = segment;
        }
        if (!last.length || !name_take(&last, group.container_id))
                return false;
        parent_note(path, &last, &group);
        *ret_group = group;
        return true;
}

/* The path of the line whose controllers contain the name; "": the line of version 2. */
static const char *line_find(const char *text, const char *name)
{
        for (const char *line = text; line && *line; line = strchr(line, '\n')) {
                line += *line == '\n';
                const char *from = strchr(line, ':');
                const char *to = from ? strchr(from + 1, ':') : NULL;
                const char *end = line + strcspn(line, "\n");

                if (!to || to > end)
                        continue;
                from++;
                if (!*name && from == to)
                        return to + 1;
                for (const char *at = from; *name && at < to; at += strcspn(at, ",:") + 1)
                        if (strcspn(at, ",:") == strlen(name) &&
                            memcmp(at, name, strlen(name)) == 0)
                                return to + 1;
        }
        return NULL;
}

int control_group_parse(const char *text, struct control_group *ret_group)
{
        /* Version 2 first; of version 1 the hierarchies that every container has. */
        static const char *const names[] = { "", "pids", "memory", "devices" };

        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
                const char *path = line_find(text, names[i]);

                if (path && path_take(path, ret_group))
                        return 0;
        }
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
                const char *path = line_find(text, names[i]);

                if (path && !strstr(path, "pod") && path_name(path, ret_group))
                        return 0;
        }
        return -ENOENT;
}

bool control_group_is_users(const char *root, const struct control_group *group)
{
        /* Of version 2, mounted alone or beside version 1, and of version 1. */
        static const char *const mounts[] = { "", "/unified", "/pids", "/memory", "/devices" };
        char path[PATH_MAX];
        struct stat status;

        for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
                snprintf(path, sizeof path, "%s%s%s", root, mounts[i], group->parent);
                if (stat(path, &status) == 0 && status.st_uid != 0)
                        return true;
        }
        return false;
}

int control_group_of(pid_t pid, struct control_group *ret_group)
{
        autofree char *text = NULL;
        struct control_group group = { 0 };
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
        if (pid <= 0 || file_read(path, &text) < 0)
                return -ESRCH;
        const int r = control_group_parse(text, &group);
        if (r < 0)
                return r;
        if (control_group_is_users("/sys/fs/cgroup", &group))
                return -ENOENT;
        *ret_group = group;
        return 0;
}
