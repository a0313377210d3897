/** Proves that a form is made once per entry while it is asked for, and that what is kept has a bound in time and size. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { configMap } from '../../api/kinds/core/config-map.ts';
import { optimized } from '../../switches.ts';
import { Entry } from './entry.ts';
import { Form, Keeper } from './forms.ts';

const text = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"}}';
const entryOf = (revision: number): Entry => Entry.of(configMap, 'default', 'a', Buffer.from(text), revision);

const minuteMs = 60_000;
const megabyte = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function counted(bytes = 10): { form: Form<object>; made: () => number } {
  let made = 0;
  const form = new Form(
    () => {
      made++;
      return {};
    },
    () => bytes,
    new Keeper(),
  );
  return { form, made: () => made };
}

describe.skipIf(!optimized)('forms, which are kept by an optimisation', () => {
  test('are made once per version of an object', () => {
    const { form, made } = counted();
    const [one, two] = [entryOf(1), entryOf(2)];
    expect(form.of(one)).toBe(form.of(one));
    expect(form.of(two)).not.toBe(form.of(one));
    expect(made()).toBe(2);
  });

  test('stay while they are asked for, and go when they are not', () => {
    const { form, made } = counted();
    const entry = entryOf(1);
    for (let minute = 0; minute < 5; minute++) {
      form.of(entry);
      vi.advanceTimersByTime(minuteMs);
    }
    expect(made()).toBe(1);
    vi.advanceTimersByTime(2 * minuteMs);
    form.of(entry);
    expect(made()).toBe(2);
  });

  test('leave no timer behind', () => {
    const { form } = counted();
    form.of(entryOf(1));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(2 * minuteMs);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('of a long list stay together when room was made for them, for a while', () => {
    const { form, made } = counted(megabyte);
    const entries = Array.from({ length: 100 }, (_, i) => entryOf(i + 1));
    form.makeRoom(entries.length, entries.length * megabyte);
    for (let round = 0; round < 3; round++) for (const entry of entries) form.of(entry);
    expect(made()).toBe(100);
    vi.advanceTimersByTime(2 * minuteMs);
    for (let round = 0; round < 2; round++) for (const entry of entries) form.of(entry);
    expect(made()).toBe(300);
  });

  test('get no more room than there is', () => {
    const { form, made } = counted(megabyte);
    const entries = Array.from({ length: 1_000 }, (_, i) => entryOf(i + 1));
    form.makeRoom(entries.length, entries.length * megabyte);
    for (let round = 0; round < 2; round++) for (const entry of entries) form.of(entry);
    expect(made()).toBe(2_000);
  });

  test('make room for others', () => {
    const { form, made } = counted(megabyte);
    const entries = Array.from({ length: 100 }, (_, i) => entryOf(i + 1));
    for (const entry of entries) form.of(entry);
    // The last ones are kept, the first are not.
    form.of(entries[99]!);
    expect(made()).toBe(100);
    form.of(entries[0]!);
    expect(made()).toBe(101);
  });
});
