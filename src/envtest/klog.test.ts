/** Proves the forms of log lines. */
import { expect, it } from 'vitest';
import { failureLine, klogLine } from './klog.ts';

const nowMs = Date.UTC(2026, 10, 16, 0, 45, 36, 126);

it('has the form of klog', () => {
  const pid = String(process.pid).padStart(7);
  expect(klogLine('I', nowMs, 'server.go:150', 'Version')).toBe(
    `I1116 00:45:36.126000 ${pid} server.go:150] Version\n`,
  );
  expect(failureLine(nowMs, 'a "b"')).toBe(
    `E1116 00:45:36.126000 ${pid} run.go:72] "command failed" err="a \\"b\\""\n`,
  );
});

it('may be JSON', () => {
  expect(JSON.parse(klogLine('I', nowMs, 'server.go:150', 'Version', 'json'))).toEqual({
    ts: nowMs,
    caller: 'server.go:150',
    msg: 'Version',
    v: 0,
  });
  expect(JSON.parse(failureLine(nowMs, 'no', 'json'))).toMatchObject({ msg: 'command failed', err: 'no' });
});
