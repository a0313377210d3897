/** Notices that the parent process is gone: a test harness that was killed does not stop its servers. */

const lookEveryMs = 1_000;

/** Calls `gone` once, when this process gets another parent. */
export function followParent(parent: number, gone: () => void): void {
  // Started by init or the first process of a container, which never ends before this one.
  if (parent <= 1) return;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone();
  }, lookEveryMs).unref();
}
