/**
 * Proves that a watcher sends no more than its client reads, and that a slow or failing watcher does not affect
 * others.
 */
import { describe, expect, it } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { everything, Filter } from './filter.ts';
import { type Notice, WatchEvent } from './watch-event.ts';
import { Watcher, type WatchSink } from './watcher.ts';

const kind = new KindTable().resource('v1', 'configmaps')!;
const mebibyte = 1024 * 1024;

function entry(name: string, revision: number, size = 10): Entry {
  const object = { metadata: { name, namespace: 'a', uid: 'u' }, data: { ballast: 'x'.repeat(size) } };
  return Entry.of(kind, 'a', name, Buffer.from(JSON.stringify(object)), revision);
}

/** A collection in which every revision creates an object of a size. */
function collectionOf(sizes: readonly number[]): Collection {
  const collection = new Collection();
  for (const [i, size] of sizes.entries()) append(collection, i + 1, size);
  return collection;
}

/** Zero-padded, so that names sort like numbers. */
const nameOf = (revision: number): string => `object-${String(revision).padStart(2, '0')}`;

function append(collection: Collection, revision: number, size = 10): void {
  const from = collection.endNumber;
  collection.apply(new WatchEvent(revision, 0, entry(nameOf(revision), revision, size), undefined));
  collection.notify(from);
}

/** A sink that records what it gets, and applies back-pressure while `open` is false. */
function recorder(open: () => boolean = () => true) {
  const sends: string[][] = [];
  const ends: string[] = [];
  const sink: WatchSink = {
    send: (notices: readonly Notice[]) => {
      sends.push(notices.map(({ entry }) => entry.name));
      return open();
    },
    stateSent: () => ends.push('state'),
    expired: () => ends.push('expired'),
    failed: (error) => ends.push(String(error)),
  };
  return { sink, sends, ends };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a watcher whose client does not read', () => {
  it('holds about a mebibyte, not all that there is', async () => {
    const collection = collectionOf(Array(40).fill(mebibyte / 4));
    const state = collection.select(everything).entries;
    for (const start of [
      { state: undefined, position: 0 },
      { state, position: collection.endNumber },
    ]) {
      const { sink, sends, ends } = recorder(() => false);
      const watcher = new Watcher(collection, everything, start, sink);
      watcher.pump();
      for (let i = 0; i < 3; i++) await turn();
      expect(sends.map((names) => names.length)).toEqual([4]);
      // Each time the client has read, it gets the next slice, and nothing is missing at the end.
      for (let i = 0; i < 9; i++) {
        watcher.resume();
        await turn();
      }
      expect(sends.flat()).toEqual(state.map(({ name }) => name));
      expect(ends).toEqual(start.state ? ['state'] : []);
      watcher.close();
    }
  });

  it('is told when history has moved past it', () => {
    const collection = collectionOf([10, 10, 10]);
    const { sink, sends, ends } = recorder(() => false);
    const watcher = new Watcher(collection, everything, { state: undefined, position: 0 }, sink);
    watcher.pump();
    append(collection, 4);
    append(collection, 5);
    collection.forget(4);
    watcher.resume();
    expect(sends).toEqual([['object-01', 'object-02', 'object-03']]);
    expect(ends).toEqual(['expired']);
    expect(collection.watcherCount).toBe(0);
  });
});

describe('a watcher that fails', () => {
  it('ends alone: the others and the writer notice nothing', () => {
    const collection = collectionOf([]);
    const broken = new Filter(undefined, undefined, undefined, undefined);
    broken.selects = () => {
      throw new Error('a rule that was not made for this object');
    };
    const [bad, good, deaf] = [recorder(), recorder(), recorder()];
    deaf.sink.send = () => {
      throw new Error('a socket in a strange state');
    };
    const start = { state: undefined, position: 0 };
    const watchers = [
      new Watcher(collection, broken, start, bad.sink),
      new Watcher(collection, everything, start, deaf.sink),
    ];
    watchers.push(new Watcher(collection, everything, start, good.sink));
    append(collection, 1);
    append(collection, 2);
    expect(bad.ends).toEqual(['Error: a rule that was not made for this object']);
    expect(deaf.ends).toEqual(['Error: a socket in a strange state']);
    expect(good).toMatchObject({ sends: [['object-01'], ['object-02']], ends: [] });
    expect(collection.watcherCount).toBe(1);
  });
});

describe('a watcher that begins at a version to come', () => {
  it('is silent until then', () => {
    const collection = collectionOf([10, 10]);
    const { sink, sends } = recorder();
    const watcher = new Watcher(collection, everything, { state: undefined, position: 2, after: 4 }, sink);
    for (let revision = 3; revision <= 6; revision++) append(collection, revision);
    expect(sends.flat()).toEqual(['object-05', 'object-06']);
    expect(watcher.caughtUp).toBe(true);
  });
});
