import { describe, expect, it } from 'vitest';
import type { Entry } from './entry.ts';
import { Notice, type NoticeForm, WatchEvent } from './watch-event.ts';

const entry = { length: 10 } as Entry;
const event = new WatchEvent(1, 0, entry, undefined);
const joined = (lines: readonly Buffer[]): Buffer => Buffer.concat(lines);
const framed = (lines: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from('<'), ...lines]);

/** A form that counts how often it is asked. */
function counted(word: string): NoticeForm & { readonly made: number } {
  let made = 0;
  return {
    get made() {
      return made;
    },
    bytes: () => {
      made++;
      return Buffer.from(word);
    },
  };
}

describe('notices', () => {
  it('are encoded once for all watchers that get the same in the same form and framing', () => {
    const [first, second] = [new Notice('ADDED', entry, event), new Notice('ADDED', entry, event)];
    const form = counted('a');
    const bytes = first.bytesWith([first, second], form, joined);
    expect(bytes.toString()).toBe('aa');
    expect(first.bytesWith([first, second], form, joined)).toBe(bytes);
    expect(form.made).toBe(2);
    expect(first.bytesWith([first, second], form, framed).toString()).toBe('<aa');
    expect(first.bytesWith([first, second], counted('b'), joined).toString()).toBe('bb');
    // The others are still there.
    expect(first.bytesWith([first, second], form, joined)).toBe(bytes);
    expect(first.bytesWith([first], form, joined).toString()).toBe('a');
  });

  it('of an initial state are not kept', () => {
    const notice = new Notice('ADDED', entry, undefined);
    const form = counted('a');
    notice.bytesWith([notice], form, joined);
    notice.bytesWith([notice], form, joined);
    expect(form.made).toBe(2);
  });
});
