/** Proves that everything that was started is closed, newest first, once, even if closing fails. */
import { describe, expect, it } from 'vitest';
import { Closers } from './closers.ts';

describe('closers', () => {
  it('close the newest part first, and wait for each before the next', async () => {
    const closers = new Closers();
    const closed: string[] = [];
    const slowly = (name: string) => async () => {
      closed.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      closed.push(`${name} is closed`);
    };
    closers.add(slowly('store'));
    closers.add(slowly('server'));
    await closers.close();
    expect(closed).toEqual(['server begins', 'server is closed', 'store begins', 'store is closed']);
  });

  it('close once, however often they are asked', async () => {
    const closers = new Closers();
    let count = 0;
    closers.add(() => void count++);
    await Promise.all([closers.close(), closers.close()]);
    await closers.close();
    expect(count).toBe(1);
  });

  it('close the rest when one part fails, and say what failed', async () => {
    const closers = new Closers();
    const closed: string[] = [];
    closers.add(() => void closed.push('store'));
    closers.add(() => Promise.reject(new Error('the port is stuck')));
    closers.add(() => void closed.push('node'));
    await expect(closers.close()).rejects.toThrow('the port is stuck');
    expect(closed).toEqual(['node', 'store']);
    await expect(closers.close()).rejects.toThrow('the port is stuck');
  });

  it('tell of all parts that failed', async () => {
    const closers = new Closers();
    closers.add(() => Promise.reject(new Error('one')));
    closers.add(() => {
      throw new Error('two');
    });
    const failure = await closers.close().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AggregateError);
    expect((failure as AggregateError).message).toBe('two; one');
    expect((failure as AggregateError).errors).toMatchObject([{ message: 'two' }, { message: 'one' }]);
  });

  it('close a part that comes while they are closing before the older ones', async () => {
    const closers = new Closers();
    const closed: string[] = [];
    closers.add(() => void closed.push('store'));
    closers.add(async () => {
      closers.add(() => void closed.push('late'));
      await new Promise((resolve) => setImmediate(resolve));
      closed.push('server');
    });
    await closers.close();
    expect(closed).toEqual(['server', 'late', 'store']);
  });

  it('close a part that comes after everything is closed at once', async () => {
    const closers = new Closers();
    await closers.close();
    const closed: string[] = [];
    closers.add(() => void closed.push('late'));
    await closers.close();
    expect(closed).toEqual(['late']);
    closers.add(() => Promise.reject(new Error('too late')));
    await expect(closers.close()).rejects.toThrow('too late');
  });
});
