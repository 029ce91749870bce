/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing a line: figures first, then names, then bars, then the past. */
#include "top_layout.h"

enum {
        NAME_LEAST = 12,
        NAME_USUAL = 29, /* "0 A100-SXM4-40GB  shares 1.8G" */
        BAR_LEAST = 5,
        BAR_USUAL = 12,
        BAR_LONG = 24,
        BAR_MOST = 60,
        BRACKETS = 3, /* with the blank behind them */
        PROGRAM_LEAST = 12,
        PROGRAM_MOST = 48,
        USER_MOST = 16,
        PAST_LEAST = 10,
        PAST_USUAL = 20,
        PAST_MOST = 60,
};

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

/* A column with the blank before it. */
static unsigned taken(unsigned width)
{
        return width ? width + 1 : 0;
}

static unsigned bar_taken(const struct top_layout *layout)
{
        return layout->bar ? layout->bar + BRACKETS : 0;
}

unsigned top_layout_user(const struct top_layout *layout)
{
        return layout->name + 1;
}

unsigned top_layout_pid(const struct top_layout *layout)
{
        return layout->name + taken(layout->user) + 1;
}

unsigned top_layout_program(const struct top_layout *layout)
{
        return layout->name + taken(layout->user) + taken(layout->pid) + 1;
}

unsigned top_layout_memory(const struct top_layout *layout)
{
        return layout->name + taken(layout->user) + taken(layout->pid) + taken(layout->program) + 1;
}

unsigned top_layout_cores(const struct top_layout *layout)
{
        return top_layout_memory(layout) + bar_taken(layout) + TOP_MEMORY_CELLS + 1;
}

unsigned top_layout_past(const struct top_layout *layout)
{
        return top_layout_cores(layout) + bar_taken(layout) + TOP_CORES_CELLS + 1;
}

static unsigned layout_used(const struct top_layout *layout)
{
        unsigned used = layout->name + taken(layout->user) + taken(layout->pid) +
                        taken(layout->program) + taken(layout->past);

        if (layout->has_memory)
                used += 1 + TOP_MEMORY_CELLS + bar_taken(layout);
        if (layout->has_cores)
                used += 1 + TOP_CORES_CELLS + bar_taken(layout);
        return used;
}

static unsigned layout_spare(const struct top_layout *layout)
{
        const unsigned used = layout_used(layout);

        return used < layout->columns ? layout->columns - used : 0;
}

/* Lets a column grow to `most`, as far as there is space. */
static void grow(struct top_layout *layout, unsigned *width, unsigned most)
{
        if (*width < most)
                *width += least(most - *width, layout_spare(layout));
}

static void grow_bars(struct top_layout *layout, unsigned most)
{
        const unsigned half = layout_spare(layout) / 2;

        if (!layout->has_cores)
                return;
        if (layout->bar)
                layout->bar = least(most, layout->bar + half);
        else if (half >= BAR_LEAST + BRACKETS)
                layout->bar = least(most, half - BRACKETS);
}

static void add_programs(struct top_layout *layout, const struct top_need *need)
{
        struct top_layout wider = *layout;

        wider.user = least(need->user, USER_MOST);
        wider.pid = need->pid;
        wider.program = PROGRAM_LEAST;
        if (need->pid && layout_used(&wider) <= layout->columns)
                *layout = wider;
}

/* On a wide screen names are whole before bars are long. */
static void names_whole(struct top_layout *layout, unsigned name)
{
        grow(layout, &layout->name, name);
        if (layout->name >= name || layout->columns < TOP_WIDE)
                return;
        while (layout->bar > BAR_LEAST && layout_spare(layout) < name - layout->name)
                layout->bar--;
        if (layout_spare(layout) < name - layout->name)
                layout->bar = 0;
        grow(layout, &layout->name, name);
}

static struct top_layout narrow(unsigned columns)
{
        struct top_layout layout = { .columns = columns };

        layout.has_memory = columns > TOP_MEMORY_CELLS + 6;
        layout.has_cores = columns >= NAME_LEAST + TOP_MEMORY_CELLS + TOP_CORES_CELLS + 2;
        layout.name = layout_spare(&layout);
        return layout;
}

struct top_layout top_layout_make(unsigned columns, const struct top_need *need)
{
        struct top_layout layout = narrow(columns);

        if (!layout.has_cores)
                return layout;
        layout.name = NAME_LEAST;
        grow(&layout, &layout.name, NAME_USUAL);
        grow_bars(&layout, BAR_USUAL);
        if (columns >= TOP_WIDE)
                add_programs(&layout, need);
        names_whole(&layout, need->name);
        if (columns < TOP_WIDE)
                add_programs(&layout, need);
        if (layout.program)
                grow(&layout, &layout.program, least(need->program, PROGRAM_MOST));
        if (layout_spare(&layout) > PAST_LEAST)
                layout.past = least(layout_spare(&layout) - 1, PAST_USUAL);
        grow_bars(&layout, BAR_LONG);
        if (layout.past)
                grow(&layout, &layout.past, PAST_MOST);
        grow_bars(&layout, BAR_MOST);
        /* What is left over belongs to the names: nothing ends before the screen does. */
        grow(&layout, &layout.name, columns);
        return layout;
}
