// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * What must hold, checked at every completion against all that was put in:
 *
 *   - a published sum is exactly the sum of its mask's contributions, each
 *     counted once (within the alignment bound where exponents differ)
 *   - members that are not STALE and complete a collective hold identical
 *     bytes and masks; only an owner's own node may hold what the others
 *     voided, and must become STALE
 *   - every submitted collective ends within its timeout
 *   - all submit the same, unless somebody became STALE: who gives up a state
 *     transfer goes on with what the others do not do
 *   - replicas share one value at every step
 *
 * Beside a hostile member, which can make up results of its own shards, copies
 * of others' and decisions, there remain: nobody waits past a timeout; what
 * came straight from an honest owner and is not VOID is the same at all honest
 * members, and is the exact sum unless the hostile member contributed to it.
 */
#include <stdarg.h>

#include "sim.h"

#define HISTORY		512	/* collectives remembered */
#define VARIANTS	2	/* of one chunk: RESULT and VOID */

struct contribution {
	bool			valid;
	bool			open;	/* submitted, not completed */
	bool			cancelled;
	bool			astray;	/* another one than the first's */
	struct tally_submit	req;
	u64			submit_ns;
	u8			*cells;
};

struct variant {
	u64	holders;
	u64	hash;
	bool	is_void;
};

struct record {
	bool			valid;
	u32			seq;
	struct tally_layout	layout;
	struct contribution	from[SIM_RANKS];
	struct variant		(*chunk)[VARIANTS];
};

struct sim_oracle {
	struct record	history[HISTORY];
	u32		stale_seq[SIM_RANKS];
	bool		stale[SIM_RANKS];
	bool		any_stale;
	u64		values[HISTORY];	/* by step */
	bool		value_known[HISTORY];
};

void sim_fail(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (sim->failed)
		return;
	sim->failed = true;
	va_start(args, format);
	vsnprintf(sim->why, sizeof(sim->why), format, args);
	va_end(args);
}

static u32 cells_of(struct sim *sim)
{
	return sim->scenario.shard_chunks * sim->scenario.ranks;
}

static size_t cell_bytes(struct sim *sim)
{
	return sizeof(struct tally_hdr) + 8 * sim->scenario.cell_words;
}

int sim_oracle_init(struct sim *sim)
{
	struct sim_oracle *o = calloc(1, sizeof(*o));
	u32 i;

	sim->oracle = o;
	if (!o)
		return -ENOMEM;
	for (i = 0; i < HISTORY; i++) {
		o->history[i].chunk = calloc(cells_of(sim),
					     sizeof(*o->history[i].chunk));
		if (!o->history[i].chunk)
			return -ENOMEM;
	}
	return 0;
}

void sim_oracle_free(struct sim *sim)
{
	struct sim_oracle *o = sim->oracle;
	u32 i, r;

	for (i = 0; o && i < HISTORY; i++) {
		free(o->history[i].chunk);
		for (r = 0; r < SIM_RANKS; r++)
			free(o->history[i].from[r].cells);
	}
	free(o);
	sim->oracle = NULL;
}

static void record_end(struct sim *sim, struct record *record);

static struct record *record_at(struct sim *sim, u32 seq)
{
	struct record *record = &sim->oracle->history[seq % HISTORY];
	u32 r;

	if (record->valid && record->seq == seq)
		return record;
	if (record->valid)
		record_end(sim, record);
	record->valid = true;
	record->seq = seq;
	memset(&record->layout, 0, sizeof(record->layout));
	for (r = 0; r < SIM_RANKS; r++)
		record->from[r].valid = false;
	memset(record->chunk, 0, cells_of(sim) * sizeof(*record->chunk));
	return record;
}

void sim_oracle_submit(struct sim_proc *p, const struct tally_submit *req)
{
	struct sim *sim = p->sim;
	struct record *record = record_at(sim, req->seq);
	struct contribution *c = &record->from[p->rank];
	struct tally_layout layout;

	memset(&layout, 0, sizeof(layout));
	sim_layout(p, req, &layout);
	if (req->participants >> p->rank & 1) {
		if (!record->layout.participants)
			record->layout = layout;
		c->astray = memcmp(&layout, &record->layout, sizeof(layout));
		if (c->astray && !sim->oracle->any_stale &&
		    !sim->scenario.evil)
			sim_fail(sim, "rank %u submits another seq %u", p->rank,
				 req->seq);
	}
	c->valid = true;
	c->req = *req;
	c->submit_ns = sim->now;
	c->open = true;
	c->cancelled = false;
	if (!c->cells)
		c->cells = malloc(cells_of(sim) * cell_bytes(sim));
	if (!c->cells)
		abort();
	memcpy(c->cells, sim_tx_cell(p, req->seq, 0),
	       cells_of(sim) * cell_bytes(sim));
}

static const struct tally_hdr *put_in(struct sim *sim, struct record *record,
				      u32 rank, u32 at)
{
	struct contribution *c = &record->from[rank];

	return c->valid && !c->astray && c->req.participants >> rank & 1 &&
	       !(c->req.out_flags & TALLY_SUBMITTED_ZERO) ?
	       (struct tally_hdr *)(c->cells + at * cell_bytes(sim)) : NULL;
}

static u64 hash(u64 h, u64 x)
{
	h = (h ^ x) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

/* The bytes that replicas must share; of a RECEIPT only what it tells. */
static u64 cell_hash(const struct tally_hdr *hdr, bool receipt)
{
	const __le64 *payload = (const __le64 *)(hdr + 1);
	u32 words = tally_get16(hdr->words), i;
	u64 h = hash(tally_get64(hdr->mask), tally_get32(hdr->weight));

	h = hash(h, (u8)hdr->exponent);
	h = hash(h, hdr->flags & ~(TALLY_F_REPAIR | TALLY_F_RELIABLE));
	if (receipt)
		return h;
	h = hash(h, hdr->lane);
	h = hash(h, tally_get32(hdr->bias));
	h = hash(h, words);
	for (i = 0; i < words; i++)
		h = hash(h, tally_get_le64(payload[i]));
	return h;
}

/* One lane of the published sum against the exact one. */
static bool lane_fits(u64 got, long double exact, u32 aligned)
{
	long double d = (long double)got - exact;

	return (d < 0 ? -d : d) <= aligned / 2.0L + 1e-6L * (aligned != 0);
}

static long double scale(int d)
{
	long double x = 1;

	for (; d < 0; d++)
		x /= 2;
	return x;
}

/* Sums, weights and biases of what the mask names. */
static bool sum_fits(struct sim *sim, struct record *record,
		     const struct tally_hdr *hdr, u32 at)
{
	const __le64 *payload = (const __le64 *)(hdr + 1);
	u32 bits = tally_lane_bits(hdr->lane), r, i, j, aligned = 0;
	u64 mask = tally_get64(hdr->mask), weight = 0;
	u32 words = tally_get16(hdr->words);
	const struct tally_hdr *in;
	long double bias = 0;
	int exponent = TALLY_EXP_NONE;
	u8 flags = 0;

	for (r = 0; r < sim->scenario.ranks; r++) {
		in = mask >> r & 1 ? put_in(sim, record, r, at) : NULL;
		if (!in)
			continue;
		weight += record->from[r].req.weight + tally_get32(in->weight);
		flags |= in->flags & TALLY_F_NONFINITE;
		if (in->words)
			exponent = max(exponent, (int)in->exponent);
	}
	if (weight != tally_get32(hdr->weight) ||
	    exponent != hdr->exponent ||
	    flags != (hdr->flags & TALLY_F_NONFINITE) ||
	    !words != (exponent == TALLY_EXP_NONE)) {
		snprintf(sim->detail, sizeof(sim->detail),
			 "weight %u for %llu, exponent %d for %d, flags %x for %x, %u words",
			 tally_get32(hdr->weight), weight, hdr->exponent,
			 exponent, hdr->flags, flags, words);
		return false;
	}
	for (r = 0; r < sim->scenario.ranks; r++) {
		in = mask >> r & 1 ? put_in(sim, record, r, at) : NULL;
		if (!in || !in->words)
			continue;
		bias += tally_get32(in->bias) * scale(in->exponent - exponent);
		aligned += in->exponent != exponent;
	}
	/* Intermediate exponents may round more than once. */
	if (aligned)
		aligned = 2 * sim->scenario.ranks;
	if (!lane_fits(tally_get32(hdr->bias), bias, aligned)) {
		snprintf(sim->detail, sizeof(sim->detail), "bias %u for %Lf",
			 tally_get32(hdr->bias), bias);
		return false;
	}
	for (i = 0; i < words; i++) {
		u64 got = tally_get_le64(payload[i]), plain = 0;

		for (j = 0; j < 64 / bits; j++) {
			u64 lane = bits == 64 ? got :
				   got >> j * bits & ((1ull << bits) - 1);
			long double exact = 0;

			for (r = 0; r < sim->scenario.ranks; r++) {
				u64 x;

				in = mask >> r & 1 ?
				     put_in(sim, record, r, at) : NULL;
				if (!in || !in->words)
					continue;
				x = tally_get_le64(((__le64 *)(in + 1))[i]);
				plain += bits == 64 ? x : 0;
				x = bits == 64 ? x : x >> j * bits &
						     ((1ull << bits) - 1);
				exact += x * scale(in->exponent - exponent);
			}
			if (bits == 64 ? plain != got :
					 !lane_fits(lane, exact, aligned)) {
				snprintf(sim->detail, sizeof(sim->detail),
					 "word %u lane %u of %u bits: %llu for %Lf",
					 i, j, bits, lane, exact);
				return false;
			}
		}
	}
	return true;
}

/* Gathered bytes are the sender's. */
static bool raw_fits(struct sim *sim, struct record *record,
		     const struct tally_hdr *hdr, u32 shard, u32 chunk)
{
	const struct tally_layout *layout = &record->layout;
	u32 owner = tally_shard_owner(layout->participants, layout->n,
				      layout->seq, shard);
	const struct tally_hdr *in = put_in(sim, record, owner, chunk);

	/* Who has the key leads others round all seqs: that record was reused. */
	if (!in)
		return sim->scenario.evil;
	return in->words == hdr->words &&
	       !memcmp(in + 1, hdr + 1, 8 * tally_get16(hdr->words));
}

static u64 evil_ranks(const struct sim *sim)
{
	u64 ranks = 0;
	u32 r;

	for (r = 0; sim->scenario.evil && r < sim->scenario.ranks; r++) {
		if (sim->node_of[r] == sim->scenario.evil - 1)
			ranks |= 1ull << r;
	}
	return ranks;
}

/* Did the cell come from its owner, and neither end is hostile? */
static bool from_honest_owner(struct sim_proc *p, struct record *record,
			      const struct tally_hdr *hdr, u32 shard)
{
	const struct tally_layout *layout = &record->layout;
	u32 owner = tally_shard_owner(layout->participants, layout->n,
				      layout->seq, shard);

	return tally_get16(hdr->rank) == owner && hdr->mask &&
	       !((1ull << owner | 1ull << p->rank) & evil_ranks(p->sim));
}

static void chunk_check(struct sim_proc *p, struct record *record, u32 shard,
			u32 chunk)
{
	const struct tally_layout *layout = &record->layout;
	u32 at = tally_layout_first(layout, shard) + chunk, v;
	struct tally_hdr *hdr = sim_result_cell(p, record->seq, at);
	bool receipt = layout->op == TALLY_OP_REDUCE_SCATTER;
	bool own = tally_shard_owner(layout->participants, layout->n,
				     layout->seq, shard) == p->rank;
	struct variant *variant = record->chunk[at];
	u64 bit = 1ull << p->rank, h;
	struct sim *sim = p->sim;
	bool fits;

	if (sim->scenario.evil && !from_honest_owner(p, record, hdr, shard))
		return;
	if (tally_get32(hdr->seq) != record->seq) {
		sim_fail(sim, "rank %u seq %u chunk %u: no outcome", p->rank,
			 record->seq, at);
		return;
	}
	if (tally_op_gathers(layout->op))
		fits = raw_fits(sim, record, hdr, shard, chunk);
	else
		fits = !hdr->mask || tally_get64(hdr->mask) & evil_ranks(sim) ||
		       hdr->type == TALLY_RECEIPT ||
		       sum_fits(sim, record, hdr, at);
	if (hdr->mask && hdr->type != TALLY_RESULT && (!receipt || own))
		fits = false;
	if (!fits) {
		sim_fail(sim, "rank %u seq %u chunk %u: not the sum of %llx: %s",
			 p->rank, record->seq, at, tally_get64(hdr->mask),
			 sim->detail);
		return;
	}
	h = cell_hash(hdr, receipt);
	for (v = 0; v < VARIANTS; v++) {
		if (variant[v].holders && variant[v].hash != h)
			continue;
		variant[v].holders |= bit;
		variant[v].hash = h;
		variant[v].is_void = !hdr->mask;
		return;
	}
	sim_fail(sim, "rank %u seq %u chunk %u: a third outcome", p->rank,
		 record->seq, at);
}

/* All of @ranks became STALE after collective @seq, or are gone. */
static bool all_stale(struct sim *sim, u64 ranks, u32 seq)
{
	u32 r;

	for (r = 0; r < sim->scenario.ranks; r++) {
		bool stale = sim->oracle->stale[r] &&
			     tally_seq_diff(sim->oracle->stale_seq[r], seq) > 0;

		if (ranks >> r & 1 && !(sim->crashed >> r & 1) && !stale)
			return false;
	}
	return true;
}

/*
 * Members may differ only as RESULT at the owner's node and VOID elsewhere.  A
 * node that was cut off may have gone further on its own: it is STALE by the
 * end.
 */
static void record_end(struct sim *sim, struct record *record)
{
	const struct tally_layout *layout = &record->layout;
	u32 s, shard, i, r, owner;

	for (s = 0; s < layout->shards; s++) {
		shard = tally_layout_shard(layout, s);
		owner = tally_shard_owner(layout->participants, layout->n,
					  layout->seq, shard);
		for (i = 0; i < tally_layout_count(layout, shard); i++) {
			u32 at = tally_layout_first(layout, shard) + i;
			struct variant *v = record->chunk[at], *sum;
			u64 voiders;

			if (!v[0].holders || !v[1].holders)
				continue;
			sum = v[0].is_void ? &v[1] : &v[0];
			if (v[0].is_void == v[1].is_void) {
				if ((sim->scenario.deaf ||
				     sim->scenario.partitions) &&
				    (all_stale(sim, v[0].holders,
					       record->seq) ||
				     all_stale(sim, v[1].holders,
					       record->seq)))
					continue;
				sim_fail(sim, "seq %u chunk %u: ranks %llx and %llx hold different sums",
					 record->seq, at, v[0].holders,
					 v[1].holders);
				return;
			}
			voiders = (sum == v ? v[1] : v[0]).holders;
			for (r = 0; r < sim->scenario.ranks; r++) {
				bool there = sim->node_of[r] ==
					     sim->node_of[owner];
				/* One of the two sides has nothing to keep. */
				bool stale = all_stale(sim, 1ull << r,
						       record->seq) ||
					     all_stale(sim, voiders,
						       record->seq);

				if (!(sum->holders >> r & 1) ||
				    sim->crashed >> r & 1)
					continue;
				if (!there || !stale)
					sim_fail(sim, "seq %u chunk %u: rank %u holds what ranks %llx voided%s",
						 record->seq, at, r, voiders,
						 there ? " and is not STALE" :
						 ", and does not own it");
			}
		}
	}
}

void sim_oracle_stale(struct sim *sim, u32 rank, u32 seq)
{
	sim->oracle->stale[rank] = true;
	sim->oracle->stale_seq[rank] = seq;
	sim->oracle->any_stale = true;
}

void sim_oracle_cancel(struct sim_proc *p, u32 seq)
{
	struct record *record = record_at(p->sim, seq);

	if (record->from[p->rank].valid)
		record->from[p->rank].cancelled = true;
}

void sim_oracle_detach(struct sim_proc *p)
{
	u32 i;

	for (i = 0; i < HISTORY; i++)
		p->sim->oracle->history[i].from[p->rank].open = false;
	/* Its memory is gone with what it held. */
	sim_oracle_stale(p->sim, p->rank, p->seq);
}

/* Was any chunk voided without its owner? */
static bool decided(const struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->nodes; i++) {
		if (sim->node[i].counts[TALLY_COUNT_VOIDS])
			return true;
	}
	return false;
}

/* Faults excuse some ends, never a wait past the timeout. */
static void status_check(struct sim_proc *p, struct contribution *c,
			 const struct tally_completion *done)
{
	const struct sim_scenario *s = &p->sim->scenario;
	bool faults = s->crashes || s->kills || s->partitions || s->deaf;
	bool reliable = tally_op_reliable(done->op, c->req.flags);
	/* What is bounded does not wait for who needs what was reliable. */
	bool mixed = s->reliable_ppm && s->reliable_ppm < 1000000;

	if (done->elapsed_us > s->timeout_us + 2000)
		sim_fail(p->sim, "rank %u seq %u ended after %u us", p->rank,
			 done->seq, done->elapsed_us);
	if (!done->status || done->status == -ESTALE || s->evil)
		return;
	/* An owner may have gone on from what the others then voided. */
	if ((done->status == -EBADMSG && !s->deaf && !s->partitions &&
	     !decided(p->sim)) ||
	    done->status == -ERANGE || done->status == -EINVAL)
		sim_fail(p->sim, "rank %u seq %u: %d", p->rank, done->seq,
			 done->status);
	if (done->status == -ECANCELED) {
		if (!c->cancelled)
			sim_fail(p->sim, "rank %u seq %u: nobody cancelled it",
				 p->rank, done->seq);
		return;
	}
	/*
	 * A STALE rank does not do its part in what is reliable, nor does one
	 * that cancelled it; that holds up the window of who waits for it, and
	 * what is bounded behind it.
	 */
	if (!faults && done->status != -EBADMSG &&
	    !(mixed && p->sim->oracle->any_stale) &&
	    !(reliable && (s->stops || s->cancels || mixed ||
			   p->sim->oracle->any_stale)))
		sim_fail(p->sim, "rank %u seq %u: %d without a fault, missing %llx",
			 p->rank, done->seq, done->status,
			 (u64)done->missing);
	if ((done->status == -ETIMEDOUT || done->status == -EHOSTDOWN) &&
	    !done->missing)
		sim_fail(p->sim, "rank %u seq %u: %d names nobody", p->rank,
			 done->seq, done->status);
}

void sim_oracle_complete(struct sim_proc *p,
			 const struct tally_completion *done)
{
	struct sim *sim = p->sim;
	struct record *record = record_at(sim, done->seq);
	struct contribution *c = &record->from[p->rank];
	const struct tally_layout *layout = &record->layout;
	u32 s, shard, i, at;
	u64 digest;

	if (!c->valid) {
		/* A made up state moves a rank far ahead: records collide. */
		if (sim->scenario.evil)
			return;
		sim_fail(sim, "rank %u: completion of seq %u that it did not submit",
			 p->rank, done->seq);
		return;
	}
	c->open = false;
	status_check(p, c, done);
	if (done->status || !(c->req.participants >> p->rank & 1) || c->astray)
		return;
	digest = done->seq;
	for (s = 0; s < layout->shards; s++) {
		shard = tally_layout_shard(layout, s);
		for (i = 0; i < tally_layout_count(layout, shard); i++) {
			chunk_check(p, record, shard, i);
			at = tally_layout_first(layout, shard) + i;
			digest = hash(digest, cell_hash(sim_result_cell(p,
						done->seq, at), false));
		}
	}
	if (layout->op == TALLY_OP_ALL_REDUCE &&
	    !(c->req.flags & TALLY_SUBMIT_RELIABLE) &&
	    layout->participants == sim->members)
		p->value += (u32)digest;
	if (sim->verbose)
		printf("# %9.3f ms rank %u seq %u op %u digest %x value %x step %u\n",
		       sim->now / 1e6, p->rank, done->seq, layout->op,
		       (u32)digest, p->value, p->step);
}

bool sim_oracle_any_stale(const struct sim *sim)
{
	return sim->oracle->any_stale;
}

/* Replicas that come to the same place of the script share its value. */
static void value_check(struct sim_proc *p, u32 place, const char *when)
{
	struct sim_oracle *o = p->sim->oracle;
	u32 i = place % HISTORY;

	/* Until it is told, an owner may hold what the others voided. */
	if (o->value_known[i] && o->values[i] != p->value &&
	    !decided(p->sim) && !p->sim->scenario.evil)
		sim_fail(p->sim, "rank %u: another value than its replicas' %s step %u",
			 p->rank, when, p->step);
	o->values[i] = p->value;
	o->value_known[i] = true;
}

void sim_oracle_step(struct sim_proc *p)
{
	value_check(p, 2 * p->step, "after");
}

/* The state of a step was broadcast: the vote for it counts, too. */
void sim_oracle_value(struct sim_proc *p)
{
	value_check(p, 2 * p->step + 1, "with the state of");
}

/* A collective that should have ended by now. */
static void overdue(struct sim *sim, struct record *record)
{
	u64 timeout = 1000ull * sim->scenario.timeout_us + 10 * SIM_MS;
	u32 r;

	for (r = 0; r < sim->scenario.ranks; r++) {
		struct contribution *c = &record->from[r];

		if (!c->valid || !c->open || sim->crashed >> r & 1 ||
		    sim->now < c->submit_ns + timeout)
			continue;
		sim_fail(sim, "rank %u waits for seq %u for ever", r,
			 record->seq);
	}
}

void sim_oracle_end(struct sim *sim)
{
	u32 i;

	for (i = 0; i < HISTORY && !sim->failed; i++) {
		if (!sim->oracle->history[i].valid)
			continue;
		record_end(sim, &sim->oracle->history[i]);
		overdue(sim, &sim->oracle->history[i]);
	}
}
