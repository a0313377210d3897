import { describe, expect, it } from 'vitest';
import { sessionStatus, statusBytes } from './session-status.ts';

describe('session status', () => {
  it('has an exit code that fits a byte', () => {
    // Proves that clients never get an exit code that they would take for a protocol error.
    const shown = (code: number) => sessionStatus('exec', { kind: 'exit', code }).details?.causes[0]?.message;
    expect([1, 137, 255, 256, 300, -1, 1.5].map(shown)).toEqual([
      '1',
      '137',
      '255',
      '255',
      '255',
      '255',
      '255',
    ]);
    expect(sessionStatus('exec', { kind: 'exit', code: 0 })).toEqual({ metadata: {}, status: 'Success' });
  });

  it('is a success for whoever was attached', () => {
    // Proves that an attached session succeeds whatever the exit code of the main process.
    expect(sessionStatus('attach', { kind: 'exit', code: 3 }).status).toBe('Success');
    expect(sessionStatus('attach', { kind: 'failure', message: 'x' }).message).toBe(
      'Internal error occurred: error attaching to container: x',
    );
  });

  it('fits into one message', () => {
    // Proves that long messages are cut, whatever characters they have.
    for (const letter of ['a', '\u0000', '€']) {
      const status = sessionStatus('exec', { kind: 'failure', message: letter.repeat(100_000) });
      expect(statusBytes(status, true).length).toBeLessThan(24 * 1024);
      expect(JSON.parse(statusBytes(status, true).toString()).reason).toBe('InternalError');
    }
  });

  it('is a text only for failures where there are no objects', () => {
    // Proves the form of v1 to v3.
    expect(statusBytes(sessionStatus('exec', { kind: 'success' }), false).length).toBe(0);
    expect(statusBytes(sessionStatus('exec', { kind: 'exit', code: 2 }), false).toString()).toBe(
      'command terminated with non-zero exit code: exit status 2',
    );
  });
});
