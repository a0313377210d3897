/** Proves that every limit has an option, the errors for wrong values, and the help text. */
import { describe, expect, it } from 'vitest';
import { defaultLimits, limitForms, limitNames } from '../cluster/index.ts';
import { UsageError } from '../program/usage-error.ts';
import { helpText } from './help.ts';
import { type ClusterLine, readCommandLine } from './options.ts';

const help = helpText('serve', true);
const limitsOf = (...args: string[]) => (readCommandLine(['serve', ...args]) as ClusterLine).start.limits;

describe('options of limits', () => {
  it.each(limitNames)('set %s', (name) => {
    const { option, unit } = limitForms[name];
    expect(limitsOf(`--${option}`, unit === 'ms' ? '1s' : '2000')).toEqual({
      [name]: unit === 'ms' ? 1000 : 2000,
    });
    expect(help).toContain(`  --${option} `);
  });

  it.each([
    ['--max-body-bytes', '4Mi', { bodyBytesMax: 4 * 1024 * 1024 }],
    ['--max-header-bytes', '64Ki', { headerBytesMax: 65_536 }],
    ['--warn-bytes', '2Gi', { bytesWarned: 2 * 1024 ** 3 }],
    ['--request-timeout', '1m30s', { requestTimeoutMs: 90_000 }],
    ['--request-timeout', '500ms', { requestTimeoutMs: 500 }],
    ['--request-timeout', '1m0s', { requestTimeoutMs: 60_000 }],
  ])('take %s %s', (option, value, limits) => {
    expect(limitsOf(option, value)).toEqual(limits);
  });

  it.each([
    ['--max-requests-inflight', 'many', /--max-requests-inflight must be a number, not "many"/],
    ['--max-requests-inflight', '-1', /--max-requests-inflight/],
    ['--max-requests-inflight', '1.5', /must be a number/],
    ['--max-body-bytes', '3MB', /must be a number of bytes such as 4096, 64Ki or 3Mi, not "3MB"/],
    ['--max-body-bytes', '', /--max-body-bytes/],
    ['--request-timeout', '60', /must be a time such as 500ms, 60s or 1m30s, not "60"/],
    ['--request-timeout', '1d', /must be a time/],
  ])('refuse %s %s', (option, value, says) => {
    expect(() => limitsOf(`${option}=${value}`)).toThrow(UsageError);
    expect(() => limitsOf(`${option}=${value}`)).toThrow(says);
  });

  it('are not for nodes, and unset ones are left to the defaults', () => {
    expect(() => readCommandLine(['node', '--server', 'http://a', '--max-watches', '1'])).toThrow(
      'node does not take --max-watches',
    );
    expect(limitsOf()).toEqual({});
    expect(help).toMatch(/--max-body-bytes BYTES\n {24}body of a request \(default 3Mi\)/);
    expect(help).toMatch(/--request-timeout TIME\n.*\(default 60s\)/);
    expect(defaultLimits.bodyBytesMax).toBe(3 * 1024 * 1024);
  });
});

describe('options of the audit log', () => {
  const auditOf = (...args: string[]) => (readCommandLine(['up', ...args]) as ClusterLine).start.auditLog;

  it('are none, a file, or a file with its bounds', () => {
    expect(auditOf()).toBeUndefined();
    expect(auditOf('--audit-log', 'a.log')).toEqual({
      file: 'a.log',
      fileBytesMax: 104_857_600,
      backupsMax: 10,
    });
    expect(auditOf('--audit-log', 'a', '--audit-log-maxsize', '1', '--audit-log-maxbackup', '0')).toEqual({
      file: 'a',
      fileBytesMax: 1_048_576,
      backupsMax: 0,
    });
  });

  it.each([
    [['--audit-log-maxsize', '1'], /--audit-log-maxsize needs --audit-log/],
    [['--audit-log-maxbackup', '1'], /--audit-log-maxbackup needs --audit-log/],
    [['--audit-log', 'a', '--audit-log-maxsize', '0'], /at least 1/],
    [['--audit-log', 'a', '--audit-log-maxbackup', 'x'], /--audit-log-maxbackup must be a number/],
    [['--audit-log='], /--audit-log must name a file/],
  ])('%j are refused', (args, says) => {
    expect(() => auditOf(...args)).toThrow(says);
  });
});
