/* Families of calls of memory, and of what processes share. */
#include "families.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <time.h>

static char *page;

static void run_mmap(void)
{
    page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)mmap(page, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    (void)mmap(NULL, 0, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)mmap(NULL, 4096, PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, -1, 4096);
    (void)mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE | MAP_HUGETLB | MAP_STACK | MAP_LOCKED, -1, 0);
    CALL(SYS_munmap, page, 4096L);
    CALL(SYS_munmap, 1L, 4096L);
    CALL(SYS_munmap, NULL, 0L);
}

static void run_mprotect(void)
{
    CALL(SYS_mprotect, page + 4096, 4096L, PROT_READ);
    CALL(SYS_mprotect, page + 4096, 4096L, PROT_READ | PROT_WRITE);
    CALL(SYS_mprotect, 1L, 4096L, PROT_NONE);
    CALL(SYS_mprotect, page + 4096, 0L, PROT_READ | PROT_GROWSDOWN);
    CALL(SYS_mprotect, page + 4096, 0L, 0x100);
}

static void run_mremap(void)
{
    char *other = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other = mremap(other, 8192, 4096, 0);
    CALL(SYS_mremap, other, 4096L, 4096L, MREMAP_MAYMOVE | MREMAP_FIXED, 1L);
    CALL(SYS_mremap, other, 4096L, 0L, 0x8, 1L);
    CALL(SYS_munmap, other, 4096L);
}

static void run_madvise(void)
{
    CALL(SYS_madvise, page + 4096, 4096L, MADV_DONTNEED);
    CALL(SYS_madvise, page + 4096, 4096L, MADV_COLD);
    CALL(SYS_madvise, page + 4096, 4096L, 25);
    CALL(SYS_madvise, page + 4096, 4096L, MADV_HWPOISON + 900);
    CALL(SYS_process_madvise, -1, NULL, 0L, MADV_PAGEOUT, 0);
}

static void run_msync(void)
{
    unsigned char in[4];
    CALL(SYS_msync, page + 4096, 4096L, MS_SYNC | MS_INVALIDATE);
    CALL(SYS_msync, page + 4096, 4096L, 0x80);
    CALL(SYS_mincore, page + 4096, 4096L, in);
    CALL(SYS_mincore, page + 1, 4096L, in);
    CALL(SYS_remap_file_pages, page, 4096L, PROT_NONE, 3L, MAP_SHARED);
}

static void run_mlock(void)
{
    CALL(SYS_mlock, page + 4096, 4096L);
    CALL(SYS_munlock, page + 4096, 4096L);
    CALL(SYS_mlock2, page + 4096, 4096L, 1);
    CALL(SYS_mlock2, page + 4096, 4096L, 8);
    CALL(SYS_mlockall, MCL_CURRENT | MCL_ONFAULT | 0x40);
    CALL(SYS_munlockall);
}

static void run_brk(void)
{
    CALL(SYS_brk, NULL);
    CALL(SYS_brk, 1L);
}

static void run_keys(void)
{
    int key = CALL_FD(SYS_pkey_alloc, 0L, 0x2L);
    CALL(SYS_pkey_mprotect, page + 4096, 4096L, PROT_READ | PROT_WRITE, -1);
    CALL(SYS_pkey_free, key);
    CALL(SYS_pkey_free, 99);
}

static void run_policy(void)
{
    unsigned long mask[16] = {1};
    int mode;
    CALL(SYS_get_mempolicy, &mode, mask, 1024L, NULL, 0L);
    CALL(SYS_set_mempolicy, 0, NULL, 0L);
    CALL(SYS_set_mempolicy, 99, NULL, 0L);
    CALL(SYS_mbind, page + 4096, 4096L, 0, NULL, 0L, 0);
    CALL(SYS_migrate_pages, -1, 0L, NULL, NULL);
    CALL(SYS_move_pages, -1, 0L, NULL, NULL, NULL, 2);
    CALL(SYS_memfd_secret, 5);
}

static void run_shm(void)
{
    struct shmid_ds about;
    int id = CALL_FD(SYS_shmget, IPC_PRIVATE, 4096L, IPC_CREAT | 0600);
    CALL(SYS_shmat, id, NULL, SHM_RDONLY);
    CALL(SYS_shmctl, id, IPC_STAT, &about);
    CALL(SYS_shmctl, id, IPC_RMID, NULL);
    CALL(SYS_shmdt, 5L);
    CALL(SYS_shmget, 0x12345678, 0L, 0);
    CALL(SYS_shmctl, -1, 99, NULL);
}

static void run_sem(void)
{
    struct sembuf all[2] = {{0, 1, SEM_UNDO}, {1, -1, IPC_NOWAIT}};
    struct semid_ds about;
    struct timespec wait = {0, 1000};
    int id = CALL_FD(SYS_semget, IPC_PRIVATE, 2, IPC_CREAT | IPC_EXCL | 0600);
    CALL(SYS_semctl, id, 0, SETVAL, 3L);
    CALL(SYS_semctl, id, 0, GETVAL, 0L);
    CALL(SYS_semop, id, all, 1L);
    CALL(SYS_semop, id, all, 2L);
    CALL(SYS_semtimedop, id, all + 1, 1L, &wait);
    CALL(SYS_semctl, id, 0, IPC_STAT, &about);
    CALL(SYS_semctl, id, 0, IPC_RMID, 0L);
    CALL(SYS_semop, -1, NULL, 0L);
    CALL(SYS_semget, 0x12345678, 5, 0);
}

static void run_msg(void)
{
    struct {
        long type;
        char text[16];
    } message = {5, "message"};
    struct msqid_ds about;
    int id = CALL_FD(SYS_msgget, IPC_PRIVATE, IPC_CREAT | 0600);
    CALL(SYS_msgsnd, id, &message, 7L, IPC_NOWAIT);
    CALL(SYS_msgrcv, id, &message, 16L, 5L, MSG_NOERROR | IPC_NOWAIT);
    CALL(SYS_msgrcv, id, &message, 16L, -1L, IPC_NOWAIT);
    CALL(SYS_msgctl, id, IPC_STAT, &about);
    CALL(SYS_msgctl, id, IPC_RMID, NULL);
    CALL(SYS_msgsnd, -1, NULL, 0L, 0);
}

static void run_mq(void)
{
    struct mq_attr how = {.mq_maxmsg = 2, .mq_msgsize = 16};
    char text[16];
    unsigned priority;
    struct timespec wait = {1, 0};
    int fd = CALL_FD(SYS_mq_open, "words-of-mq", O_RDWR | O_CREAT, 0600, &how);
    CALL(SYS_mq_timedsend, fd, "text", 4L, 7, &wait);
    CALL(SYS_mq_timedreceive, fd, text, 16L, &priority, NULL);
    CALL(SYS_mq_getsetattr, fd, NULL, &how);
    CALL(SYS_mq_notify, fd, NULL);
    CALL(SYS_mq_unlink, "words-of-mq");
    CALL(SYS_mq_open, "absent", O_RDONLY, 0, NULL);
    CALL(SYS_close, fd);
}

static void run_futex(void)
{
    uint32_t word = 1, other = 2;
    struct timespec wait = {0, 1000};
    CALL(SYS_futex, &word, FUTEX_WAIT, 1, &wait);
    CALL(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL);
    CALL(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
    CALL(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 1, &wait, NULL, ~0u);
    CALL(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 5);
    CALL(SYS_futex, &word, FUTEX_REQUEUE, 1, 2L, &other);
    CALL(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 2L, &other, 1);
    CALL(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1L, &other,
         FUTEX_OP(FUTEX_OP_SET, 5, FUTEX_OP_CMP_EQ, 2));
    CALL(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0, NULL);
    CALL(SYS_futex, &word, 99, 0, NULL, NULL, 0);
    CALL(SYS_futex_waitv, NULL, 0, 0, NULL, 0);
}

static const struct family families[] = {
    {"mmap", run_mmap},       {"mprotect", run_mprotect}, {"mremap", run_mremap},
    {"madvise", run_madvise}, {"msync", run_msync},       {"mlock", run_mlock},
    {"brk", run_brk},         {"keys", run_keys},         {"policy", run_policy},
    {"shm", run_shm},         {"sem", run_sem},           {"msg", run_msg},
    {"mq", run_mq},           {"futex", run_futex},
};

int main(int argc, char **argv) { return RUN(families); }
