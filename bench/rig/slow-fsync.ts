import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Builds a small library that, put before libc's own, makes every fsync take so much longer: its path, to be named in
 * LD_PRELOAD. Undefined where there is no C compiler.
 */
export function buildSlowFsync(folder: string, addedMs: number): string | undefined {
  if (Bun.which("cc") === null) return undefined;
  const [source, library] = [join(folder, "slow-fsync.c"), join(folder, "slow-fsync.so")];
  writeFileSync(
    source,
    `#define _GNU_SOURCE
     #include <dlfcn.h>
     #include <unistd.h>
     static void slow(void) { usleep(${Math.round(addedMs * 1000)}); }
     int fsync(int fd) { int (*real)(int) = dlsym(RTLD_NEXT, "fsync"); slow(); return real(fd); }
     int fdatasync(int fd) { int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync"); slow(); return real(fd); }`,
  );
  const built = Bun.spawnSync(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], {
    stderr: "ignore",
  });
  return built.success ? library : undefined;
}
