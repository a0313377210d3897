/** Proves that every guarantee of a watch is checked: a correct watch passes, and a violation is reported by name. */
import { describe, expect, it } from 'vitest';
import { changed, deleted, logOf, objectOf, other, told } from './history.fixture.ts';
import { textOf } from './log.ts';
import {
  type Bookmark,
  checkWatch,
  type properties,
  type WatchLine,
  type WatchRecord,
} from './watch-properties.ts';

const red = { version: 11, mark: '1', colour: 'red' };
const blue = { version: 12, mark: '2', colour: 'blue' };
const neighbour = { version: 13, mark: '3', of: other, colour: 'red' };
const redAgain = { version: 14, mark: '4', colour: 'red' };
const log = logOf(
  changed(red),
  changed(blue),
  changed(neighbour),
  changed(redAgain),
  deleted(15),
  deleted(16, other),
);

const bookmark = (version: number, endsState = false): Bookmark => ({ type: 'BOOKMARK', version, endsState });
/** The last state of an object, with the version of its deletion. */
const gone = (content: Parameters<typeof objectOf>[0], version: number) => ({
  ...told('DELETED', content),
  version,
  text: textOf(objectOf({ ...content, version })),
});

const all: readonly WatchLine[] = [
  told('ADDED', red),
  told('MODIFIED', blue),
  told('ADDED', neighbour),
  told('MODIFIED', redAgain),
  gone(redAgain, 15),
  gone(neighbour, 16),
];
const onlyRed: readonly WatchLine[] = [
  told('ADDED', red),
  gone(red, 12),
  told('ADDED', neighbour),
  told('ADDED', redAgain),
  gone(redAgain, 15),
  gone(neighbour, 16),
];

const watch = (lines: readonly WatchLine[], rest: Partial<WatchRecord> = {}): WatchRecord => ({
  name: 'w',
  scope: { resource: 'configmaps' },
  after: 10,
  lines,
  ...rest,
});

const broken = (lines: readonly WatchLine[], rest?: Partial<WatchRecord>): string[] =>
  checkWatch(watch(lines, rest), log).map(({ property }) => property);

describe('a watch that keeps its promises', () => {
  it('passes, wherever it begins and ends, and whatever it selects', () => {
    for (let begin = 0; begin <= all.length; begin++)
      for (let end = begin; end <= all.length; end++)
        expect(checkWatch(watch(all.slice(begin, end), { after: 10 + begin }), log)).toEqual([]);
    expect(broken(onlyRed, { scope: { resource: 'configmaps', colour: 'red' } })).toEqual([]);
    expect(broken([], { scope: { resource: 'configmaps', namespace: 'other' } })).toEqual([]);
    expect(broken([all[2]!, all[5]!], { scope: { resource: 'configmaps', name: 'b' } })).toEqual([]);
  });

  it('passes with bookmarks, and when it begins with a state', () => {
    expect(broken([bookmark(10), all[0]!, bookmark(11), all[1]!, all[2]!, bookmark(13)])).toEqual([]);
    const state = [told('ADDED', blue), told('ADDED', neighbour)];
    expect(broken([...state, bookmark(13, true), ...all.slice(3)], { after: undefined })).toEqual([]);
    expect(broken([bookmark(16, true)], { after: undefined })).toEqual([]);
    // The watch broke off before it said which version its state had.
    expect(broken([state[0]!], { after: undefined })).toEqual([]);
  });
});

/** For each guarantee, watches that violate it. */
const examples: Record<
  keyof typeof properties,
  { lines: readonly WatchLine[]; rest?: Partial<WatchRecord> }[]
> = {
  ordered: [{ lines: [all[1]!, all[0]!] }, { lines: [all[0]!, all[2]!, all[1]!, all[3]!] }],
  unique: [{ lines: [all[0]!, all[0]!] }, { lines: [all[0]!, all[1]!, all[1]!, all[2]!] }],
  atomic: [
    { lines: [told('ADDED', { ...red, base: 'half' })] },
    { lines: [...all.slice(0, 4), { ...gone(blue, 15) }] },
    // The state mixes two versions: the object is of 12, the second object of a later one.
    {
      lines: [told('ADDED', blue), told('ADDED', neighbour), bookmark(14, true)],
      rest: { after: undefined },
    },
    { lines: [told('ADDED', blue), bookmark(13, true)], rest: { after: undefined } },
  ],
  reliable: [
    { lines: [all[0]!, all[2]!] },
    { lines: all.slice(1) },
    { lines: [told('ADDED', blue), bookmark(12, true), all[3]!], rest: { after: undefined } },
  ],
  resumable: [{ lines: all.slice(1), rest: { after: 12 } }],
  bookmarkable: [
    { lines: [bookmark(11), ...all] },
    { lines: [all[0]!, all[1]!, bookmark(11)] },
    { lines: [all[0]!, bookmark(13), all[2]!] },
  ],
  filtered: [
    { lines: all, rest: { scope: { resource: 'configmaps', colour: 'red' } } },
    { lines: all, rest: { scope: { resource: 'configmaps', name: 'a' } } },
    { lines: [told('ADDED', red)], rest: { scope: { resource: 'configmaps', namespace: 'other' } } },
    // An object that starts to match is ADDED, one that no longer matches is DELETED.
    { lines: [told('MODIFIED', red)] },
    { lines: [...onlyRed.slice(0, 3), all[3]!], rest: { scope: { resource: 'configmaps', colour: 'red' } } },
  ],
};

describe.each(Object.entries(examples))('a watch that is not %s', (property, wrong) => {
  it.each(wrong)('is caught: %j', ({ lines, rest }) => {
    expect(broken(lines, rest)).toContain(property);
  });
});
