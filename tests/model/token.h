/* SPDX-License-Identifier: Apache-2.0 */
/* The token as a finite machine: the tenants' side (lib/contract/gpu_timeslice.c) and the arbiter's
 * (lib/arbiter, lib/model/timeslices.c), one memory access a step, with time as free choice: whatever a
 * clock may decide, some run decides. Processes may be killed, stopped and continued between any two
 * steps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TOKEN_TENANTS_MOST = 3, TOKEN_SUCCESSORS = 128 };

struct token_tenant {
        uint8_t life, step;
        uint8_t slot;         /* enum gpu_slot_state */
        uint8_t word;         /* the grant's: its state; of its number only … */
        uint8_t saved;        /* the state that the tenant saw */
        uint8_t is_as_saved;  /* … whether it is the one that the tenant saw */
        uint8_t has_deadline; /* of the grant */
        uint8_t is_rung;      /* since the arbiter looked */
        uint8_t view;         /* what the arbiter takes it for */
        uint8_t is_untold;    /* … and has not said yet */
        uint8_t report;       /* its slot when the arbiter looked */
        uint8_t is_given_up;  /* it did not drain in time: the documented exception */
};

struct token {
        uint8_t arbiter, at; /* the arbiter's step, and the tenant it is at */
        uint8_t has_changed; /* it has to look again before it sleeps */
        uint8_t moves;       /* memory changes hands with the token: all tenants' does not fit */
        struct token_tenant tenants[TOKEN_TENANTS_MOST];
};

void token_init(struct token *token, unsigned tenants, bool moves);

enum { TOKEN_NOBODY_FAILS = -1 };

/* All states that one step leads to, with the first `failing` tenants and the arbiter killed, stopped
 * and started again; or with nobody's failure. */
unsigned token_next(const struct token *token, unsigned tenants, int failing,
                    struct token ret_next[TOKEN_SUCCESSORS]);

/* Two have the token and neither was given up; or more than one other has work left that the token was
 * passed on before the end of. Where memory changes hands, nobody else has any: one brings its memory onto the GPU,
 * and the others' gives way. */
bool token_is_double(const struct token *token, unsigned tenants);
bool token_waits(const struct token *token, unsigned tenant);
bool token_runs(const struct token *token, unsigned tenant);
void token_print(const struct token *token, unsigned tenants);
