/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: what happens to packets and collectives. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally

#if !defined(_TALLY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TALLY_TRACE_H

#include <linux/tracepoint.h>
#include <tally/wire.h>

#include "engine/engine.h"
#include "receive.h"

#ifndef _TALLY_TRACE_ONCE
#define _TALLY_TRACE_ONCE

#define TALLY_TRACE_PATHS						\
	{ TALLY_PATH_XDP, "xdp" },					\
	{ TALLY_PATH_SOCKET, "socket" }

#define TALLY_TRACE_REASONS						\
	{ TALLY_DROP_TRUNCATED, "truncated" },				\
	{ TALLY_DROP_OVERSIZED, "oversized" },				\
	{ TALLY_DROP_VERSION, "version" },				\
	{ TALLY_DROP_TYPE, "type" },					\
	{ TALLY_DROP_GROUP, "group" },					\
	{ TALLY_DROP_EPOCH, "epoch" },					\
	{ TALLY_DROP_ADDRESS, "address" },				\
	{ TALLY_DROP_MEMBER, "member" },				\
	{ TALLY_DROP_SPOOF, "spoof" },					\
	{ TALLY_DROP_LANE, "lane" },					\
	{ TALLY_DROP_MALFORMED, "malformed" },				\
	{ TALLY_DROP_PARTICIPANTS, "participants" },			\
	{ TALLY_DROP_OWNER, "owner" },					\
	{ TALLY_DROP_CHUNK, "chunk" },					\
	{ TALLY_DROP_TAG, "tag" },					\
	{ TALLY_DROP_STALE, "stale" },					\
	{ TALLY_DROP_AHEAD, "ahead" },					\
	{ TALLY_DROP_LATE, "late" },					\
	{ TALLY_DROP_DUPLICATE, "duplicate" },				\
	{ TALLY_DROP_MISMATCH, "mismatch" },				\
	{ TALLY_DROP_CONTENDED, "contended" },				\
	{ TALLY_DROP_UNWANTED, "unwanted" },				\
	{ TALLY_DROP_PROMISED, "promised" },				\
	{ TALLY_DROP_VOIDED, "voided" },				\
	{ TALLY_DROP_QUEUE, "queue" },					\
	{ TALLY_DROP_RATE, "rate" },					\
	{ TALLY_DROP_MEMORY, "memory" }

static_assert(__TALLY_DROP_END == TALLY_DROP_MEMORY + 1,
	      "a reason lacks its name above");

#endif

/* Trace tools print numbers where they do not know an enum's value. */
#undef EM
#define EM(name, text) TRACE_DEFINE_ENUM(TALLY_DROP_##name);
TALLY_DROPS(EM)
#undef EM
TRACE_DEFINE_ENUM(TALLY_PATH_XDP);
TRACE_DEFINE_ENUM(TALLY_PATH_SOCKET);

DECLARE_EVENT_CLASS(tally_packet,
	TP_PROTO(const struct tally_hdr *hdr, enum tally_path path),
	TP_ARGS(hdr, path),
	TP_STRUCT__entry(
		__field(u32, seq)
		__field(u32, chunk)
		__field(u16, group)
		__field(u16, rank)
		__field(u16, shard)
		__field(u16, words)
		__field(u8, path)
	),
	TP_fast_assign(
		__entry->seq = tally_get32(hdr->seq);
		__entry->chunk = tally_get32(hdr->chunk);
		__entry->group = tally_get16(hdr->group);
		__entry->rank = tally_get16(hdr->rank);
		__entry->shard = tally_get16(hdr->shard);
		__entry->words = tally_get16(hdr->words);
		__entry->path = path;
	),
	TP_printk("group=%u rank=%u seq=%u shard=%u chunk=%u words=%u path=%s",
		  __entry->group, __entry->rank, __entry->seq, __entry->shard,
		  __entry->chunk, __entry->words,
		  __print_symbolic(__entry->path, TALLY_TRACE_PATHS))
);

DEFINE_EVENT(tally_packet, tally_contribution,
	TP_PROTO(const struct tally_hdr *hdr, enum tally_path path),
	TP_ARGS(hdr, path)
);

DEFINE_EVENT(tally_packet, tally_result,
	TP_PROTO(const struct tally_hdr *hdr, enum tally_path path),
	TP_ARGS(hdr, path)
);

TRACE_EVENT(tally_drop,
	TP_PROTO(const struct tally_hdr *hdr, enum tally_drop reason,
		 enum tally_path path),
	TP_ARGS(hdr, reason, path),
	TP_STRUCT__entry(
		__field(u32, seq)
		__field(u32, chunk)
		__field(u16, group)
		__field(u16, rank)
		__field(u16, shard)
		__field(u8, type)
		__field(u8, reason)
		__field(u8, path)
	),
	TP_fast_assign(
		__entry->seq = tally_get32(hdr->seq);
		__entry->chunk = tally_get32(hdr->chunk);
		__entry->group = tally_get16(hdr->group);
		__entry->rank = tally_get16(hdr->rank);
		__entry->shard = tally_get16(hdr->shard);
		__entry->type = hdr->type;
		__entry->reason = reason;
		__entry->path = path;
	),
	TP_printk("reason=%s group=%u type=%u rank=%u seq=%u shard=%u chunk=%u path=%s",
		  __print_symbolic(__entry->reason, TALLY_TRACE_REASONS),
		  __entry->group, __entry->type, __entry->rank, __entry->seq,
		  __entry->shard, __entry->chunk,
		  __print_symbolic(__entry->path, TALLY_TRACE_PATHS))
);

TRACE_EVENT(tally_send_error,
	TP_PROTO(const struct tally_hdr *hdr, u32 packets, int error),
	TP_ARGS(hdr, packets, error),
	TP_STRUCT__entry(
		__field(u32, seq)
		__field(u32, packets)
		__field(int, error)
		__field(u16, group)
		__field(u8, type)
	),
	TP_fast_assign(
		__entry->seq = tally_get32(hdr->seq);
		__entry->packets = packets;
		__entry->error = error;
		__entry->group = tally_get16(hdr->group);
		__entry->type = hdr->type;
	),
	TP_printk("group=%u type=%u seq=%u packets=%u error=%d",
		  __entry->group, __entry->type, __entry->seq,
		  __entry->packets, __entry->error)
);

DECLARE_EVENT_CLASS(tally_engine,
	TP_PROTO(u16 group, const struct tally_event *event),
	TP_ARGS(group, event),
	TP_STRUCT__entry(
		__field(u64, mask)
		__field(u32, rank)
		__field(u32, seq)
		__field(u32, shard)
		__field(u32, chunk)
		__field(int, status)
		__field(u16, group)
	),
	TP_fast_assign(
		__entry->mask = event->mask;
		__entry->rank = event->rank;
		__entry->seq = event->seq;
		__entry->shard = event->shard;
		__entry->chunk = event->chunk;
		__entry->status = event->status;
		__entry->group = group;
	),
	TP_printk("group=%u rank=%u seq=%u shard=%u chunk=%u mask=%llx status=%d",
		  __entry->group, __entry->rank, __entry->seq, __entry->shard,
		  __entry->chunk, __entry->mask, __entry->status)
);

#define TALLY_ENGINE_EVENT(name)					\
	DEFINE_EVENT(tally_engine, tally_##name,			\
		TP_PROTO(u16 group, const struct tally_event *event),	\
		TP_ARGS(group, event))

TALLY_ENGINE_EVENT(submit);
TALLY_ENGINE_EVENT(close);
TALLY_ENGINE_EVENT(nack);
TALLY_ENGINE_EVENT(decide);
TALLY_ENGINE_EVENT(complete);
TALLY_ENGINE_EVENT(stale);
TALLY_ENGINE_EVENT(rejoined);
TALLY_ENGINE_EVENT(abort);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
