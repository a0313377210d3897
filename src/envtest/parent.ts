/** Notices that the process that started this one is gone: a test harness that was killed stops nothing. */

const lookEveryMs = 1_000;

/** Calls `gone` once, when another process than this has become the parent. */
export function followParent(parent: number, gone: () => void): void {
  // Started by the first process of the system or of a container, which never goes before this one.
  if (parent <= 1) return;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone();
  }, lookEveryMs).unref();
}
