/* A library that uses static thread-local storage up: 1.6 KB of it. */
__thread char tls_room[1600] __attribute__((tls_model("initial-exec")));

int tls_user(void);
int tls_user(void) { return tls_room[17]++; }
