/**
 * Proves that lists with the same query share a page until an object changes, and that its text matches its entries.
 */
import { describe, expect, it } from 'vitest';
import { configMap } from '../../api/kinds/core/config-map.ts';
import { optimized } from '../../switches.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { Filter } from './filter.ts';
import { Page } from './page.ts';
import { filterOf } from './selection.ts';
import { WatchEvent } from './watch-event.ts';

let revision = 0;

function entryOf(namespace: string, name: string, labels = {}): Entry {
  const metadata = { name, namespace, uid: `uid-${name}`, labels };
  const value = Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata }));
  return Entry.of(configMap, namespace, name, value, ++revision);
}

function collectionOf(...entries: Entry[]): Collection {
  const collection = new Collection();
  for (const entry of entries) collection.load(entry);
  return collection;
}

const all = new Filter(undefined, undefined, undefined, undefined);
const labelled = (labelSelector: string) => filterOf(configMap, { namespace: 'a', labelSelector });
const names = ({ entries }: Page) => entries.map(({ name }) => name);

describe.runIf(optimized)('objects that a selector has to read', () => {
  const long = 'x'.repeat(20_000);
  const unread = (entries: readonly Entry[]): number =>
    entries.filter((entry) => entry.unreadBytes > 0).length;
  const makeMany = (first: string): Entry[] =>
    Array.from({ length: 40 }, (_, i) => entryOf('a', `${first}-${i}`, { tier: 'web', long }));

  it('are parsed in turns when they are large together', async () => {
    const entries = makeMany('old');
    const collection = collectionOf(...entries);
    const preparing = collection.prepared(labelled('tier=web'));
    expect(unread(entries)).toBeGreaterThan(20);
    await preparing;
    expect(unread(entries)).toBe(0);
    expect(collection.prepared(labelled('tier=web'))).toBeUndefined();
    const more = makeMany('new');
    for (const entry of more) collection.apply(new WatchEvent(++revision, 0, entry, undefined));
    await collection.prepared(labelled('tier!=web'));
    expect(unread(more)).toBe(0);
    expect(names(collection.select(labelled('tier=web')))).toHaveLength(80);
  });

  it('are not looked at before when they are small, or when one is meant', () => {
    const small = entryOf('a', 'one', { tier: 'web' });
    expect(collectionOf(small).prepared(labelled('tier=web'))).toBeUndefined();
    const entries = makeMany('old');
    const collection = collectionOf(...entries);
    const one = filterOf(configMap, { namespace: 'a', fieldSelector: 'metadata.name=old-1' });
    expect(collection.prepared(one)).toBeUndefined();
    expect(collection.prepared(all)).toBeUndefined();
    expect(unread(entries)).toBe(40);
  });
});

describe('a page', () => {
  it.runIf(optimized)('is shared by all who ask the same, until the collection changes', () => {
    const collection = collectionOf(entryOf('a', 'one', { tier: 'web' }), entryOf('a', 'two'));
    const first = collection.select(labelled('tier=web'));
    expect(collection.select(labelled('tier=web'))).toBe(first);
    expect(collection.select(labelled('tier!=web'))).not.toBe(first);
    expect(collection.select(labelled('tier=web'), { limit: 1 })).not.toBe(first);
    collection.apply(new WatchEvent(++revision, 0, entryOf('a', 'three', { tier: 'web' }), undefined));
    expect(names(collection.select(labelled('tier=web')))).toEqual(['one', 'three']);
    const gone = entryOf('a', 'one');
    collection.apply(new WatchEvent(++revision, 0, undefined, gone));
    expect(names(collection.select(labelled('tier=web')))).toEqual(['three']);
  });

  it('is never that of another question, however the question is spelled', () => {
    const collection = collectionOf(entryOf('a', 'one'), entryOf('b', 'two'));
    expect(names(collection.select(all))).toEqual(['one', 'two']);
    for (const namespace of ['', 'null', '*', 'a ', 'a,null'])
      expect(names(collection.select(new Filter(namespace, undefined, undefined, undefined)))).toEqual([]);
    expect(names(collection.select(all, { start: 'b' }))).toEqual(['two']);
    expect(names(collection.select(all, { limit: 1 }))).toEqual(['one']);
  });

  it('of an older revision is made anew', () => {
    const collection = collectionOf(entryOf('a', 'one'));
    const then = revision;
    collection.apply(new WatchEvent(++revision, 0, entryOf('a', 'two'), undefined));
    expect(names(collection.select(all))).toEqual(['one', 'two']);
    expect(names(collection.select(all, { revision: then }))).toEqual(['one']);
  });

  it('has the text of its entries, in one piece and in parts', () => {
    for (const count of [0, 1, 2, 50]) {
      const entries = Array.from({ length: count }, (_, i) => entryOf('a', `name-${i}`, { tier: 'ä' }));
      const page = new Page(entries, undefined, undefined);
      const wanted = entries
        .map((entry) => {
          const { kind: _kind, apiVersion: _apiVersion, ...item } = entry.object();
          return JSON.stringify(item);
        })
        .join(',');
      expect(page.text().toString()).toBe(wanted);
      expect(page.textBytes).toBe(Buffer.byteLength(wanted));
      expect(Buffer.concat([...page.textParts(200)]).toString()).toBe(wanted);
    }
  });

  it.runIf(optimized)('keeps a text that is asked for again, but not more of them than fit', () => {
    const note = 'x'.repeat(1024 * 1024);
    const collection = collectionOf(
      ...Array.from({ length: 24 }, (_, i) => entryOf('a', `name-${String(i).padStart(2, '0')}`, { note })),
    );
    const pages = Array.from({ length: 24 }, (_, i) =>
      collection.select(all, { start: `a\u0000name-${String(i).padStart(2, '0')}`, limit: 1 }),
    );
    const kept = pages.filter((page) => {
      page.text();
      const again = page.text();
      return page.text() === again;
    });
    expect(kept.length).toBeGreaterThan(10);
    expect(kept.length).toBeLessThan(16);
  });
});
