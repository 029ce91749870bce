/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the chart repeats of our tables, a line per row. */
#include <stdio.h>

#include "choice.h"
#include "placement.h"

int main(void)
{
        const struct choice_value *at = choice_rows[CHOICE_NODE_POLICY].values;

        for (; at->text; at++)
                printf("node-policy %s%s\n", at->text,
                       at->value == PLACEMENT_ANY ? " of-pods-only" : "");
        return 0;
}
