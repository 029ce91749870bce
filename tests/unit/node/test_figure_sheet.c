/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of figures in rows, printed in columns. */
#include "figure_sheet.h"

#include <string.h>

#include "unit.h"

static const struct figure columns[] = {
        { "a_bytes", "A.", METRIC_GAUGE },
        { "b_total", "B.", METRIC_COUNTER },
        { "c_ratio", "C.", METRIC_GAUGE },
};

TEST(all_samples_of_a_column_stand_together)
{
        struct figure_sheet sheet = { .columns = columns, .column_count = 3 };
        struct figure_row base = { 0 }, *row;
        struct str out = { 0 };

        figure_row_label(&base, "node", "n1");
        row = figure_sheet_add(&sheet, &base);
        figure_row_number(row, "index", 0);
        row->values[0] = 1;
        row->values[1] = 2;
        row = figure_sheet_add(&sheet, &base);
        figure_row_number(row, "index", 1);
        row->values[0] = 3;
        row->values[1] = 4;
        CHECK_EQ(figure_sheet_print(&sheet, &out), 0);
        CHECK_STR(out.text, "# HELP a_bytes A.\n# TYPE a_bytes gauge\n"
                            "a_bytes{node=\"n1\",index=\"0\"} 1\n"
                            "a_bytes{node=\"n1\",index=\"1\"} 3\n"
                            "# HELP b_total B.\n# TYPE b_total counter\n"
                            "b_total{node=\"n1\",index=\"0\"} 2\n"
                            "b_total{node=\"n1\",index=\"1\"} 4\n");
        figure_sheet_done(&sheet);
        str_done(&out);
}

TEST(what_is_not_known_is_left_out_with_its_head)
{
        struct figure_sheet sheet = { .columns = columns, .column_count = 3 };
        struct str out = { 0 };

        CHECK(figure_sheet_add(&sheet, NULL));
        CHECK_EQ(figure_sheet_print(&sheet, &out), 0);
        CHECK_EQ(out.length, 0);
        sheet.last->values[2] = 0.5;
        CHECK_EQ(figure_sheet_print(&sheet, &out), 0);
        CHECK_STR(out.text, "# HELP c_ratio C.\n# TYPE c_ratio gauge\nc_ratio 0.5\n");
        figure_sheet_done(&sheet);
        str_done(&out);
}

TEST(a_long_row_is_cut_at_its_capacity)
{
        struct figure_sheet sheet = { .columns = columns, .column_count = 1 };
        struct figure_row *row = figure_sheet_add(&sheet, NULL);
        char name[] = "a program with a name that is far too long for all that there is";
        struct str out = { 0 };

        figure_row_copy(row, "p", name);
        memset(name, 'x', sizeof name - 1); /* the row has its own */
        row->values[0] = 1;
        CHECK_EQ(figure_sheet_print(&sheet, &out), 0);
        CHECK(strstr(out.text, "{p=\"a program with a name that is far too long for \"}"));
        for (unsigned i = 0; i < 2 * FIGURE_LABELS; i++) {
                figure_row_number(row, "n", i);
                figure_row_label(row, "l", "v");
        }
        CHECK_EQ(row->label_count, FIGURE_LABELS);
        figure_sheet_done(&sheet);
        str_done(&out);
}

int main(void)
{
        return RUN(CASE(all_samples_of_a_column_stand_together),
                   CASE(what_is_not_known_is_left_out_with_its_head),
                   CASE(a_long_row_is_cut_at_its_capacity));
}
