/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what stands on pods about decisions, and the questions that are read as a tree. An allocation
 * that is read is written as the same; whatever is asked of preempt and simulate gets an answer. */
#include <stdlib.h>
#include <string.h>

#include "allocation_book.h"
#include "fuzz.h"
#include "node_read.h"
#include "simulate.h"
#include "verb_preempt.h"

const char *const fuzz_words[] = {
        "{\"version\":1,\"pod\":\"u\",\"node\":\"n\",\"containers\":{\"c\":[",
        "{\"uuid\":\"GPU-0\",\"memory\":100,\"cores\":10}",
        "\"NodeNameToMetaVictims\":{\"n\":{\"Pods\":[{\"UID\":\"a\"}],\"NumPDBViolations\":0}}",
        "\"Pods\":[{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":{\"containers\":[",
        "{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpumem\":\"100\"}}}",
        "\"NodeNames\":[\"n\"]",
        "\"Nodes\":[{\"metadata\":{\"name\":\"m\",\"annotations\":{",
        "\"nvidia.com/node-device-register\":\"",
        "\"nodeName\":\"n\"",
        "\"priority\":9",
        NULL,
};

static const char node[] =
        "{\"metadata\":{\"name\":\"n\",\"annotations\":{\"nvidia.com/node-device-register\":"
        "\"[{\\\"id\\\":0,\\\"type\\\":\\\"A\\\",\\\"uuid\\\":\\\"GPU-0\\\",\\\"core\\\":100,"
        "\\\"memory\\\":1000,\\\"number\\\":10,\\\"numa\\\":0,\\\"mig\\\":false,\\\"busId\\\":"
        "\\\"0\\\",\\\"capability\\\":8,\\\"healthy\\\":true}]\"}}}";

static void allocation_try(const char *text)
{
        struct allocation allocation, again;
        char *once, *twice;

        if (allocation_parse(text, &allocation, NULL) < 0)
                return;
        once = allocation_format(&allocation);
        /* One that is printed is read again, and printed as before. */
        if (!once || allocation_parse(once, &again, NULL) < 0)
                abort();
        twice = allocation_format(&again);
        if (!twice || strcmp(once, twice) != 0)
                abort();
        allocation_done(&allocation);
        allocation_done(&again);
        free(once);
        free(twice);
}

static void book_try(const json_t *pod)
{
        struct allocation_book book = { 0 };
        struct allocation_entry entry;

        allocation_book_note(&book, pod);
        allocation_book_note(&book, pod);
        const struct allocation_which which = { "", "u", "", "", "c" };

        if (allocation_book_find(&book, &which, &entry) == 0)
                allocation_done(&entry.allocation);
        allocation_book_done(&book);
}

static void tree_try(const json_t *tree)
{
        struct cluster cluster = { 0 };
        json_t *object = json_loads(node, 0, NULL), *answer;
        struct gpu_request gpu_request;

        if (node_read(&cluster, "n", object, NULL) < 0)
                abort();
        json_decref(object);
        answer = simulate(&cluster, &(struct simulate_options){ 0 }, tree);
        if (!answer)
                abort();
        json_decref(answer);
        if (gpu_request_read(json_object_get(tree, "Pod"), false, &gpu_request, NULL) == 0) {
                answer = verb_preempt(&cluster, tree, &gpu_request, 0);
                if (!answer)
                        abort();
                json_decref(answer);
        }
        cluster_done(&cluster);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        json_t *tree = json_loads(text, 0, NULL);

        allocation_try(text);
        if (tree) {
                book_try(tree);
                tree_try(tree);
        }
        json_decref(tree);
        free(text);
}
