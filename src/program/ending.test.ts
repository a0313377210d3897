/** Proves how the command ends: on signals, and on fatal errors. */
import { EventEmitter } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../store/store.ts';
import { Ending } from './ending.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A fake process that records how it ends. */
function host() {
  const signals = new EventEmitter();
  const codes: number[] = [];
  const said: string[] = [];
  let exited!: () => void;
  const whenExited = new Promise<void>((resolve) => {
    exited = resolve;
  });
  const ending = new Ending({
    on: (name: string, listener: (...args: never[]) => void) => signals.on(name, listener as () => void),
    exit: (code) => {
      codes.push(code);
      exited();
    },
    stderr: { write: (text: string) => said.push(text) },
    stdout: { write: (text: string) => said.push(text) },
  });
  return { ending, signals, codes, said, whenExited };
}

const lost = new StoreUnavailableError(
  'the server no longer knows what its store holds: the store is closed',
);

describe('the command', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'])('closes what it runs on %s, and ends well', async (signal) => {
    const { ending, signals, codes, said, whenExited } = host();
    const close = vi.fn(async () => undefined);
    void ending.of(Promise.resolve({ close }));
    signals.emit(signal);
    await whenExited;
    expect(close).toHaveBeenCalledOnce();
    expect({ codes, said }).toEqual({ codes: [0], said: [] });
  });

  it('says at once that it stops, also during the start, and only once', async () => {
    const { ending, signals, said, whenExited } = host();
    let begin!: (running: { close(): Promise<void>; closingLine(): string }) => void;
    const starting = new Promise<Parameters<typeof begin>[0]>((resolve) => {
      begin = resolve;
    });
    void ending.of(starting, 'Stopping\n');
    expect(ending.isClosing).toBe(false);
    signals.emit('SIGINT');
    expect({ said, isClosing: ending.isClosing }).toEqual({ said: ['Stopping\n'], isClosing: true });
    begin({ close: async () => undefined, closingLine: () => 'Stopping 2 pods\n' });
    await whenExited;
    expect(said).toEqual(['Stopping\n']);
  });

  it('says what it ends once it has started', async () => {
    const { ending, signals, said, whenExited } = host();
    const running = { close: async () => undefined, closingLine: () => 'Stopping 2 pods\n' };
    await ending.of(Promise.resolve(running), 'Stopping\n');
    signals.emit('SIGINT');
    await whenExited;
    expect(said).toEqual(['Stopping 2 pods\n']);
  });

  it('ends at once when it is asked twice', () => {
    const { ending, signals, codes } = host();
    void ending.of(Promise.resolve({ close: () => new Promise(() => undefined) }));
    signals.emit('SIGTERM');
    signals.emit('SIGINT');
    expect(codes).toEqual([1]);
  });

  it('says what it waits for, and leaves a part that hangs', async () => {
    vi.useFakeTimers();
    const { ending, signals, codes, said } = host();
    const hangs = { close: () => new Promise<void>(() => undefined), closingPart: 'the store' };
    void ending.of(Promise.resolve(hangs));
    signals.emit('SIGTERM');
    await vi.advanceTimersByTimeAsync(10_000);
    expect({ codes, said }).toEqual({ codes: [], said: ['Still stopping: waiting for the store\n'] });
    await vi.advanceTimersByTimeAsync(49_999);
    expect(codes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(codes).toEqual([1]);
    expect(said[1]).toBe('wherry: left after 60 seconds without waiting any longer for the store\n');
  });

  it('leaves a start that neither succeeds nor fails', async () => {
    vi.useFakeTimers();
    const { ending, signals, codes, said } = host();
    void ending.of(new Promise<never>(() => undefined));
    signals.emit('SIGINT');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(codes).toEqual([1]);
    expect(said.at(-1)).toMatch(/for the start, which was under way\n$/);
  });

  it('says why it could not be closed', async () => {
    const { ending, signals, codes, said, whenExited } = host();
    void ending.of(Promise.resolve({ close: () => Promise.reject(lost) }));
    signals.emit('SIGTERM');
    await whenExited;
    expect({ codes, said }).toEqual({ codes: [1], said: [`wherry: ${lost.message}\n`] });
  });

  it('says in one sentence why it cannot go on, closes what it runs, and ends with code 1', async () => {
    const { ending, codes, said, whenExited } = host();
    const close = vi.fn(async () => undefined);
    void ending.of(Promise.resolve({ close }));
    ending.failRunning(lost);
    expect(said).toEqual([`wherry: ${lost.message}\n`]);
    await whenExited;
    expect(close).toHaveBeenCalledOnce();
    expect(codes).toEqual([1]);
  });

  it('ends with code 1 when what it runs fails to close, or has not started yet', async () => {
    for (const running of [{ close: () => Promise.reject(new Error('stuck')) }, undefined]) {
      const { ending, codes, said, whenExited } = host();
      if (running) void ending.of(Promise.resolve(running));
      ending.failRunning(lost);
      await whenExited;
      expect({ codes, said }).toEqual({ codes: [1], said: [`wherry: ${lost.message}\n`] });
    }
  });

  it('does not wait for ever for something to close that cannot go on', async () => {
    vi.useFakeTimers();
    const { ending, codes } = host();
    void ending.of(Promise.resolve({ close: () => new Promise(() => undefined) }));
    ending.failRunning(lost);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(codes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(codes).toEqual([1]);
  });
});
