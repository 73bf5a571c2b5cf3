"""The runtime of a kernel: reference counts and memory for one thread of a device.

Reference counts are Numba's, without atomics. MemInfo: count, destructor, its argument, data, size, allocator
(numba/core/runtime/nrt.cpp). The memory of a list may move, its MemInfo does not.

Each thread has a room of its own for the arrays, lists and tapes that a turn makes (`dj_room`, by `images`). `dj_arena`
says where rooms begin that are not in local memory, how large each is, and, once a block was refused, how large it
should have been (`rooms` has the turns run again with larger ones). A turn begins with an empty room: 32 bytes that say
where its free memory begins, and where its last block does. Blocks follow one another; each has two words in front: its
size, with a bit that says that it was given back, and where the one before begins. The last block gives its memory
back, and grows where it is, which is how tapes are made and used up.

On a GPU a thread that fails, or whose room is too small, sets the byte that says so and is gone (`STOPS`): the host
runs all turns again. Were there ways out of loops instead, threads that leave a loop at different turns would not meet
again behind it, but where all ways end; and what they do next would be done for each apart.
"""

from __future__ import annotations

BEGIN, ARENA = "dj_begin", "dj_arena"
TAKES = frozenset({"dj_take", "dj_grown"})
BASE, SIZE, SHORT = range(3)  # its words
THREADS = 128  # of a block

MEMORY = """
@dj_arena = global [3 x i64] zeroinitializer

define void @dj_begin() {
  %room = call ptr @dj_room()
  store i64 32, ptr %room
  %lasts = getelementptr i64, ptr %room, i64 1
  store i64 0, ptr %lasts
  ret void
}

define internal i64 @dj_padded(i64 %size) alwaysinline {
  %more = add i64 %size, 31
  %padded = and i64 %more, -16
  ret i64 %padded
}

define internal i1 @dj_fits(i64 %end) {
  %sizes = getelementptr i64, ptr @dj_arena, i64 1
  %size = load i64, ptr %sizes
  %fits = icmp ule i64 %end, %size
  br i1 %fits, label %done, label %short
short:
  %shorts = getelementptr i64, ptr @dj_arena, i64 2
  %before = atomicrmw umax ptr %shorts, i64 %end monotonic
  call void @dj_stop()
  br label %done
done:
  ret i1 %fits
}

define ptr @dj_take(i64 %size) noinline {
  %room = call ptr @dj_room()
  %needed = call i64 @dj_padded(i64 %size)
  %at = load i64, ptr %room
  %end = add i64 %at, %needed
  %fits = call i1 @dj_fits(i64 %end)
  br i1 %fits, label %give, label %none
none:
  ret ptr null
give:
  %lasts = getelementptr i64, ptr %room, i64 1
  %last = load i64, ptr %lasts
  %block = getelementptr i8, ptr %room, i64 %at
  store i64 %needed, ptr %block
  %befores = getelementptr i64, ptr %block, i64 1
  store i64 %last, ptr %befores
  store i64 %end, ptr %room
  store i64 %at, ptr %lasts
  %made = getelementptr i8, ptr %block, i64 16
  ret ptr %made
}

define void @dj_give(ptr %memory) noinline {
  %nothing = icmp eq ptr %memory, null
  br i1 %nothing, label %done, label %mark
mark:
  %room = call ptr @dj_room()
  %lasts = getelementptr i64, ptr %room, i64 1
  %block = getelementptr i8, ptr %memory, i64 -16
  %size = load i64, ptr %block
  %free = or i64 %size, 1
  store i64 %free, ptr %block
  br label %look
look:
  %last = load i64, ptr %lasts
  %some = icmp ne i64 %last, 0
  br i1 %some, label %see, label %done
see:
  %top = getelementptr i8, ptr %room, i64 %last
  %word = load i64, ptr %top
  %bit = and i64 %word, 1
  %unused = icmp ne i64 %bit, 0
  br i1 %unused, label %drop, label %done
drop:
  store i64 %last, ptr %room
  %befores = getelementptr i64, ptr %top, i64 1
  %before = load i64, ptr %befores
  store i64 %before, ptr %lasts
  br label %look
done:
  ret void
}

define ptr @dj_grown(ptr %old, i64 %had, i64 %size) noinline {
  %room = call ptr @dj_room()
  %lasts = getelementptr i64, ptr %room, i64 1
  %last = load i64, ptr %lasts
  %top = getelementptr i8, ptr %room, i64 %last
  %block = getelementptr i8, ptr %old, i64 -16
  %own = icmp eq ptr %top, %block
  br i1 %own, label %stay, label %move
stay:
  %needed = call i64 @dj_padded(i64 %size)
  %end = add i64 %last, %needed
  %fits = call i1 @dj_fits(i64 %end)
  br i1 %fits, label %longer, label %none
none:
  ret ptr null
longer:
  store i64 %needed, ptr %block
  store i64 %end, ptr %room
  ret ptr %old
move:
  %made = call ptr @dj_take(i64 %size)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %none, label %copy
copy:
  %less = icmp ult i64 %had, %size
  %bytes = select i1 %less, i64 %had, i64 %size
  br label %words
words:
  %k = phi i64 [ 0, %copy ], [ %next, %word ]
  %more = icmp ult i64 %k, %bytes
  br i1 %more, label %word, label %copied
word:
  %from = getelementptr i8, ptr %old, i64 %k
  %to = getelementptr i8, ptr %made, i64 %k
  %item = load i64, ptr %from
  store i64 %item, ptr %to
  %next = add i64 %k, 8
  br label %words
copied:
  call void @dj_give(ptr %old)
  ret ptr %made
}
"""

# What a turn does that fails: on a GPU it does not come back; on the processor the turn ends by its status.
STOPS = """
@dj_failed = internal addrspace(3) global ptr undef

define internal void @dj_stop() noreturn {
  %byte = load ptr, ptr addrspace(3) @dj_failed
  store i8 1, ptr %byte
  call void asm sideeffect "exit;", ""()
  unreachable
}
"""
GOES_ON = """
define internal void @dj_stop() { ret void }
"""
MEMORY_OR_STOP = MEMORY.replace("define ptr @dj_take", "define nonnull ptr @dj_take").replace(
    "define ptr @dj_grown", "define nonnull ptr @dj_grown"
)

# In place of that, to see whether turns need it: those that take nothing give nothing back.
UNKNOWN = """
declare ptr @dj_take(i64)
declare ptr @dj_grown(ptr, i64, i64)

define void @dj_give(ptr %memory) { ret void }
"""

COUNTS = """
@dj_beat = global i64 0

define i64 @dj_answer() { ret i64 0 }
define void @dj_trace(i64 %a, i64 %b) { ret void }

define void @dj_fail(i64 %a, i64 %b, i64 %c, i64 %d, ptr %e) {
  call void @dj_stop()
  ret void
}

define void @NRT_incref(ptr %info) {
  %none = icmp eq ptr %info, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %info
  %after = add i64 %before, 1
  store i64 %after, ptr %info
  br label %done
done:
  ret void
}

define void @NRT_decref(ptr %info) {
  %none = icmp eq ptr %info, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %info
  %after = sub i64 %before, 1
  store i64 %after, ptr %info
  %last = icmp eq i64 %after, 0
  br i1 %last, label %end, label %done
end:
  call void @NRT_MemInfo_call_dtor(ptr %info)
  br label %done
done:
  ret void
}

define void @NRT_MemInfo_call_dtor(ptr %info) {
  %dtors = getelementptr i64, ptr %info, i64 1
  %dtor = load ptr, ptr %dtors
  %datas = getelementptr i64, ptr %info, i64 3
  %data = load ptr, ptr %datas
  %plain = icmp eq ptr %dtor, null
  br i1 %plain, label %release, label %destroy
destroy:
  %infos = getelementptr i64, ptr %info, i64 2
  %extra = load ptr, ptr %infos
  %sizes = getelementptr i64, ptr %info, i64 4
  %size = load i64, ptr %sizes
  call void %dtor(ptr %data, i64 %size, ptr %extra)
  br label %release
release:
  %owners = getelementptr i64, ptr %info, i64 5
  %apart = load i64, ptr %owners
  %separate = icmp ne i64 %apart, 0
  br i1 %separate, label %both, label %one
both:
  %now = load ptr, ptr %datas
  call void @dj_give(ptr %now)
  br label %one
one:
  call void @dj_give(ptr %info)
  ret void
}

define ptr @dj_block(i64 %size, i64 %align) {
  %more = add i64 %align, 48
  %total = add i64 %size, %more
  %made = call ptr @dj_take(i64 %total)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %done, label %fill
fill:
  store i64 1, ptr %made
  %rest = getelementptr i64, ptr %made, i64 1
  call void @dj_zero(ptr %rest, i64 40)
  %start = ptrtoint ptr %made to i64
  %up = add i64 %start, %more
  %down = sub i64 0, %align
  %at = and i64 %up, %down
  %datas = getelementptr i64, ptr %made, i64 3
  store i64 %at, ptr %datas
  %sizes = getelementptr i64, ptr %made, i64 4
  store i64 %size, ptr %sizes
  br label %done
done:
  ret ptr %made
}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %made = call ptr @dj_block(i64 %size, i64 %wide)
  ret ptr %made
}

define ptr @NRT_MemInfo_alloc_safe_aligned_external(i64 %size, i32 %align, ptr %ignored) {
  %made = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align)
  ret ptr %made
}

define i64 @dj_shared_take(i64 %size) {
  %made = call ptr @dj_take(i64 %size)
  %address = ptrtoint ptr %made to i64
  ret i64 %address
}

define void @dj_shared_give(i64 %block, i64 %size, i64 %ignored) {
  %memory = inttoptr i64 %block to ptr
  call void @dj_give(ptr %memory)
  ret void
}

define ptr @NRT_MemInfo_alloc_dtor(i64 %size, ptr %dtor) {
  %made = call ptr @dj_block(i64 %size, i64 16)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %done, label %note
note:
  %dtors = getelementptr i64, ptr %made, i64 1
  store ptr %dtor, ptr %dtors
  br label %done
done:
  ret ptr %made
}

define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) {
  %made = call ptr @dj_block(i64 0, i64 16)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %none, label %fill
fill:
  %data = call ptr @dj_take(i64 %size)
  %empty = icmp eq ptr %data, null
  br i1 %empty, label %back, label %note
back:
  call void @dj_give(ptr %made)
  br label %none
none:
  ret ptr null
note:
  %dtors = getelementptr i64, ptr %made, i64 1
  store ptr %dtor, ptr %dtors
  %datas = getelementptr i64, ptr %made, i64 3
  store ptr %data, ptr %datas
  %sizes = getelementptr i64, ptr %made, i64 4
  store i64 %size, ptr %sizes
  %owners = getelementptr i64, ptr %made, i64 5
  store i64 1, ptr %owners
  ret ptr %made
}

define ptr @NRT_MemInfo_new_varsize(i64 %size) {
  %made = call ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr null)
  ret ptr %made
}

define ptr @NRT_MemInfo_varsize_realloc(ptr %info, i64 %size) {
  %datas = getelementptr i64, ptr %info, i64 3
  %old = load ptr, ptr %datas
  %sizes = getelementptr i64, ptr %info, i64 4
  %had = load i64, ptr %sizes
  %made = call ptr @dj_grown(ptr %old, i64 %had, i64 %size)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %done, label %move
move:
  store ptr %made, ptr %datas
  store i64 %size, ptr %sizes
  br label %done
done:
  ret ptr %made
}

define void @NRT_MemInfo_varsize_free(ptr %info, ptr %data) {
  call void @dj_give(ptr %data)
  %datas = getelementptr i64, ptr %info, i64 3
  %now = load ptr, ptr %datas
  %same = icmp eq ptr %now, %data
  br i1 %same, label %forget, label %done
forget:
  store ptr null, ptr %datas
  br label %done
done:
  ret void
}

define void @dj_zero(ptr %place, i64 %size) noinline {
  %address = ptrtoint ptr %place to i64
  %both = or i64 %address, %size
  %odd = and i64 %both, 7
  %even = icmp eq i64 %odd, 0
  br i1 %even, label %words, label %bytes
words:
  %k = phi i64 [ 0, %0 ], [ %next, %word ]
  %more = icmp ult i64 %k, %size
  br i1 %more, label %word, label %done
word:
  %w = getelementptr i8, ptr %place, i64 %k
  store i64 0, ptr %w
  %next = add i64 %k, 8
  br label %words
bytes:
  %j = phi i64 [ 0, %0 ], [ %after, %byte ]
  %rest = icmp ult i64 %j, %size
  br i1 %rest, label %byte, label %done
byte:
  %b = getelementptr i8, ptr %place, i64 %j
  store i8 0, ptr %b
  %after = add i64 %j, 1
  br label %bytes
done:
  ret void
}
"""
