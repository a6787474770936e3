/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel names that the engine uses, for userspace.  Atomics are real:
 * the process transport has several receive threads.
 */
#ifndef _TALLY_PORT_USER_H
#define _TALLY_PORT_USER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int32_t s32;
typedef long long s64;

#define U32_MAX			UINT32_MAX
#define BITS_PER_LONG		((int)sizeof(long) * CHAR_BIT)
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define min(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
			   _a < _b ? _a : _b; })
#define max(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
			   _a > _b ? _a : _b; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new)	({ __typeof__(*(p)) _o = (old); \
	__atomic_compare_exchange_n((p), &_o, (new), 0, __ATOMIC_SEQ_CST, \
				    __ATOMIC_SEQ_CST); _o; })
#define tally_hint		__attribute__((no_sanitize("thread")))
#define cpu_relax()		__atomic_signal_fence(__ATOMIC_SEQ_CST)

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v)		READ_ONCE((v)->counter)
#define atomic_read_acquire(v)	smp_load_acquire(&(v)->counter)
#define atomic_set(v, i)	WRITE_ONCE((v)->counter, (i))
#define atomic_inc(v)		((void)__atomic_add_fetch(&(v)->counter, 1, \
							  __ATOMIC_SEQ_CST))
#define atomic_add(i, v)	((void)__atomic_add_fetch(&(v)->counter, (i), \
							  __ATOMIC_SEQ_CST))
#define atomic_dec_and_test(v)	(!__atomic_sub_fetch(&(v)->counter, 1, \
						     __ATOMIC_SEQ_CST))

typedef struct {
	s64 counter;
} atomic64_t;

#define atomic64_read(v)	READ_ONCE((v)->counter)
#define atomic64_set(v, i)	WRITE_ONCE((v)->counter, (i))
#define atomic64_or(m, v)	((void)__atomic_or_fetch(&(v)->counter, (m), \
							 __ATOMIC_SEQ_CST))
#define atomic64_and(m, v)	((void)__atomic_and_fetch(&(v)->counter, (m), \
							  __ATOMIC_SEQ_CST))

static inline void set_bit(u32 nr, unsigned long *map)
{
	__atomic_or_fetch(&map[nr / BITS_PER_LONG], 1ul << nr % BITS_PER_LONG,
			  __ATOMIC_SEQ_CST);
}

static inline void clear_bit(u32 nr, unsigned long *map)
{
	__atomic_and_fetch(&map[nr / BITS_PER_LONG],
			   ~(1ul << nr % BITS_PER_LONG), __ATOMIC_SEQ_CST);
}

static inline bool test_bit(u32 nr, const unsigned long *map)
{
	return READ_ONCE(map[nr / BITS_PER_LONG]) >> nr % BITS_PER_LONG & 1;
}

static inline bool test_and_clear_bit(u32 nr, unsigned long *map)
{
	unsigned long bit = 1ul << nr % BITS_PER_LONG;

	return __atomic_fetch_and(&map[nr / BITS_PER_LONG], ~bit,
				  __ATOMIC_SEQ_CST) & bit;
}

static inline u32 find_next_bit(const unsigned long *map, u32 size, u32 from)
{
	while (from < size) {
		unsigned long word = READ_ONCE(map[from / BITS_PER_LONG]) >>
				     from % BITS_PER_LONG;

		if (word) {
			from += __builtin_ctzl(word);
			return min(from, size);
		}
		from = (from / BITS_PER_LONG + 1) * BITS_PER_LONG;
	}
	return size;
}

#define find_first_bit(map, size)	find_next_bit((map), (size), 0)
#define for_each_set_bit(bit, map, size) \
	for ((bit) = find_first_bit((map), (size)); (bit) < (size); \
	     (bit) = find_next_bit((map), (size), (bit) + 1))

static inline void bitmap_zero(unsigned long *map, u32 bits)
{
	u32 i;

	for (i = 0; i < (u32)BITS_TO_LONGS(bits); i++)
		WRITE_ONCE(map[i], 0ul);
}

static inline bool bitmap_empty(const unsigned long *map, u32 bits)
{
	return find_first_bit(map, bits) >= bits;
}

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

/* There are no bottom halves to keep out. */
typedef struct {
	pthread_spinlock_t lock;
} spinlock_t;

#define spin_lock_init(l)	pthread_spin_init(&(l)->lock, \
						  PTHREAD_PROCESS_PRIVATE)
#define spin_lock(l)		pthread_spin_lock(&(l)->lock)
#define spin_unlock(l)		pthread_spin_unlock(&(l)->lock)
#define spin_lock_bh(l)		spin_lock(l)
#define spin_unlock_bh(l)	spin_unlock(l)
#define local_bh_disable()	((void)0)
#define local_bh_enable()	((void)0)
#define fallthrough		__attribute__((fallthrough))
#define lockdep_assert_held(l)	((void)(l))

static inline void *tally_zalloc(size_t bytes)
{
	return calloc(1, bytes);
}

static inline void tally_free(void *p)
{
	free(p);
}

static inline void tally_free_keys(void *p, size_t bytes)
{
	explicit_bzero(p, bytes);
	free(p);
}

#endif
