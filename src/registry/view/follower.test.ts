/** A follower's values match the collection after any sequence of changes. */
import { expect, test } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { Follower } from './follower.ts';
import { WatchEvent } from './watch-event.ts';

const kind = new KindTable().resource('v1', 'configmaps')!;

/** A collection whose changes the test makes by hand, and the values of a follower. */
function follow() {
  const collection = new Collection();
  let revision = 0;
  let reads = 0;
  const held: string[] = [];
  const follower = new Follower<string>(collection, {
    read: (entry) => {
      reads++;
      return entry.object().metadata.labels!.value!;
    },
    gained: (value) => held.push(value),
    lost: (value) => held.splice(held.indexOf(value), 1),
  });
  const put = (name: string, value: string | undefined): void => {
    revision++;
    const metadata = { name, namespace: 'a', uid: 'u', labels: { value } };
    const entry =
      value === undefined
        ? undefined
        : Entry.of(kind, 'a', name, Buffer.from(JSON.stringify({ metadata })), revision);
    collection.apply(new WatchEvent(revision, 0, entry, collection.get('a', name)));
  };
  return {
    put,
    forget: () => collection.forget(revision),
    seen: () => {
      reads = 0;
      follower.catchUp();
      return [...held].sort();
    },
    reads: () => reads,
  };
}

test('additions, changes and removals', () => {
  const { put, seen, reads } = follow();
  put('a', '1');
  put('b', '2');
  expect(seen()).toEqual(['1', '2']);
  put('a', '3');
  put('b', undefined);
  put('c', '4');
  expect(seen()).toEqual(['3', '4']);
  expect(seen()).toEqual(['3', '4']);
  expect(reads()).toBe(0);
});

test('an object that changed often is read once', () => {
  const { put, seen, reads } = follow();
  seen();
  for (let i = 0; i < 100; i++) put('a', String(i));
  put('b', 'x');
  put('b', undefined);
  expect(seen()).toEqual(['99']);
  expect(reads()).toBe(1);
});

test('changes that history has forgotten are found all the same', () => {
  const { put, forget, seen } = follow();
  put('a', '1');
  put('b', '2');
  expect(seen()).toEqual(['1', '2']);
  put('a', undefined);
  put('c', '3');
  forget();
  put('d', '4');
  expect(seen()).toEqual(['2', '3', '4']);
});
