/** Proves what the log of the command writes: from its level on, one line each, as JSON or as text. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { activityLog, logger } from './log.ts';

const written: string[] = [];
const capture = (): void => {
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
};

afterEach(() => {
  vi.restoreAllMocks();
  written.length = 0;
});

describe('text', () => {
  it('is one line each, whatever is in it', () => {
    capture();
    const log = logger({ level: 'info', format: 'text' }, () => 0);
    log('info', 'node a\nb joined\u001b[31m', {
      node: 'a',
      why: 'two\u009bwords',
      gone: undefined,
      count: 2,
    });
    log('debug', 'not asked for');
    log('error', 'broken');
    expect(written).toEqual([
      '1970-01-01T00:00:00.000Z info  node a\\nb joined\\u001b[31m node=a why="two\\u009bwords" count=2\n',
      '1970-01-01T00:00:00.000Z error broken\n',
    ]);
  });
});

describe('a cluster', () => {
  it('is asked for what happens only when that is written', () => {
    const log = logger({ level: 'silent', format: 'text' }, () => 0);
    expect(activityLog('warn', log)).toBeUndefined();
    expect(activityLog('silent', log)).toBeUndefined();
    expect(activityLog('info', log)?.level).toBe('info');
    expect(activityLog('debug', log)?.level).toBe('debug');
  });
});
