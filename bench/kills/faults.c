// Faults of the system, switched on from within: an fsync that fails, a clock that was set back.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int left = -1;  // calls until every fsync fails; -1: none does
static long back = 0;

void kills_fail_fsync_after(int calls) { left = calls; }
void kills_set_clock_back(int seconds) { back = seconds; }

static int fails(void) {
    if (left < 0) return 0;
    if (left > 0) { left--; return 0; }
    errno = EIO;
    return 1;
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    return fails() ? -1 : real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    return fails() ? -1 : real(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (!status && clock == CLOCK_REALTIME) now->tv_sec -= back;
    return status;
}

int gettimeofday(struct timeval *now, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int status = real(now, zone);
    if (!status) now->tv_sec -= back;
    return status;
}
