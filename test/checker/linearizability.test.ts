/** Proves that the checker accepts a correct history, and detects each kind of incorrect one. */
import { describe, expect, it } from 'vitest';
import { changed, deleted, list, logOf, other, read, write } from './history.fixture.ts';
import { checkExpiries, checkOperations } from './linearizability.ts';

const first = { version: 11, mark: 'first' };
const second = { version: 12, mark: 'second' };
const neighbour = { version: 13, mark: 'neighbour', of: other };
const again = { version: 15, mark: 'again', uid: 'another' };

/** One object is created, changed, deleted and created again; there is a second object next to it. */
const log = logOf(changed(first), changed(second), changed(neighbour), deleted(14), changed(again));
const writes = [
  write('create', [1, 4], first),
  write('update', [5, 8], second, { expected: 11 }),
  write('create', [9, 12], neighbour),
  write('delete', [13, 16], { ...second, version: 14 }),
  write('create', [17, 20], again),
];

const problems = (...more: Parameters<typeof checkOperations>[1][number][]): string =>
  checkOperations(log, [...writes, ...more]).join('\n');

describe('a right history', () => {
  it('passes, with all that may be seen of it', () => {
    expect(
      problems(
        read([2, 3], undefined),
        read([2, 3], first),
        read([6, 7], second),
        read([10, 11], undefined, other),
        read([18, 19], undefined),
        read([21, 22], again),
        list([21, 22], [15], [again, neighbour]),
        list([14, 15], [13], [second, neighbour]),
        list([21, 22], [12], [second], { exact: 12 }),
        list([21, 22], [15, 15], [again, neighbour]),
        list([21, 22], [15], [again], { cut: true }),
        write('create', [9, 10], { version: 0, mark: 'x' }, { outcome: { ok: false, because: 'exists' } }),
        write(
          'update',
          [9, 10],
          { version: 0, mark: 'y' },
          { expected: 11, outcome: { ok: false, because: 'conflict' } },
        ),
        write('patch', [15, 18], { version: 0, mark: 'z' }, { outcome: { ok: false, because: 'missing' } }),
        write('patch', [5, Infinity], { version: 0, mark: 'never' }, { outcome: 'unknown' }),
      ),
    ).toBe('');
  });

  it('passes when a write without an answer did happen, also a deletion', () => {
    const lost = { version: 12, mark: 'lost' };
    const operations = [
      write('create', [1, 2], first),
      write('patch', [3, Infinity], lost, { outcome: 'unknown' }),
      write('delete', [4, Infinity], lost, { outcome: 'unknown' }),
      read([5, 6], lost),
      read([7, 8], undefined),
    ];
    expect(checkOperations(logOf(changed(first), changed(lost), deleted(13)), operations)).toEqual([]);
  });

  it('passes when of two deletions without an answer the one that could has happened', () => {
    const deletion = (begun: number, expected?: number) =>
      write('delete', [begun, Infinity], first, { outcome: 'unknown', expected });
    const history = logOf(changed(first), deleted(12));
    const created = write('create', [1, 2], first);
    expect(checkOperations(history, [created, deletion(3, 9), deletion(4)])).toEqual([]);
    expect(checkOperations(history, [created, deletion(3, 9), deletion(4, 11)])).toEqual([]);
    expect(checkOperations(history, [created, deletion(3, 9)]).join()).toMatch(
      /insisted on 9 and changed 11/,
    );
  });
});

describe('a wrong history is caught:', () => {
  it('a write that was acknowledged and is lost', () => {
    expect(problems(write('update', [21, 22], { version: 16, mark: 'lost' }))).toMatch(
      /acknowledged as 16 and is lost/,
    );
  });

  it('a change that nobody made', () => {
    expect(checkOperations(log, writes.slice(1)).join()).toMatch(/nobody made version 11/);
    expect(
      checkOperations(
        log,
        writes.filter(({ verb }) => verb !== 'delete'),
      ).join(),
    ).toMatch(/nobody made version 14 .* a deletion/);
  });

  it('a write that happened twice', () => {
    const twice = logOf(changed(first), changed({ ...first, version: 12 }));
    expect(checkOperations(twice, [writes[0]!]).join()).toMatch(/happened twice, as 11 and as 12/);
  });

  it('a write that was refused and happened', () => {
    const refused = [
      { ...writes[0]!, outcome: { ok: false, because: 'exists' } as const },
      ...writes.slice(1),
    ];
    expect(checkOperations(log, refused).join()).toMatch(/was refused and happened as 11/);
  });

  it('a write that insisted on another version than it changed', () => {
    const careless = [writes[0]!, { ...writes[1]!, expected: 9 }, ...writes.slice(2)];
    expect(checkOperations(log, careless).join()).toMatch(/insisted on 9 and changed 11/);
  });

  it('an update lost to a patch that worked on an older state', () => {
    const updated = { version: 12, mark: 'update', base: 'new' };
    const patched = { version: 13, mark: 'patch', base: 'base' };
    const operations = [
      write('create', [1, 2], first),
      write('update', [3, 4], updated),
      write('patch', [5, 6], patched),
    ];
    expect(
      checkOperations(logOf(changed(first), changed(updated), changed(patched)), operations).join(),
    ).toMatch(/left .*"base":"base".* instead of .*"base":"new"/);
  });

  it('a second object in the place of the first, and a change of none', () => {
    const doubled = logOf(changed(first), changed(second));
    expect(checkOperations(doubled, [writes[0]!, write('create', [5, 8], second)]).join()).toMatch(
      /there was one already/,
    );
    expect(checkOperations(logOf(changed(second)), [write('update', [5, 8], second)]).join()).toMatch(
      /there was nothing to change/,
    );
  });

  it('an answer with another object than the write left', () => {
    const odd = write('create', [1, 4], first);
    const operations = [
      { ...odd, outcome: { ...(odd.outcome as object), text: '{}' } } as typeof odd,
      ...writes.slice(1),
    ];
    expect(checkOperations(log, operations).join()).toMatch(/answered with another object/);
  });

  it('a stale read, of an object and of none', () => {
    expect(problems(read([9, 10], first))).toMatch(/found version 11, and 12 had been seen/);
    expect(problems(read([9, 10], undefined))).toMatch(/delete .* happened as 14, and 14 had been seen/);
    expect(problems(read([21, 22], second))).toMatch(/found version 12, and 15 had been seen/);
    expect(problems(read([21, 22], undefined))).toMatch(/found nothing, and 15 had been seen/);
  });

  it('a read of what is still to be written', () => {
    expect(problems(read([2, 3], second))).toMatch(
      /update .*happened as 12, and 12 had been seen before it began/,
    );
  });

  it('two reads in the wrong order, while a write is under way', () => {
    expect(problems(read([6, 7], second), read([7.2, 7.6], first))).toMatch(
      /found version 11, and 12 had been seen/,
    );
  });

  it('a read of a state that never was', () => {
    expect(problems(read([6, 7], { ...second, base: 'mixed' }))).toMatch(/found version 12/);
  });

  it('a refusal without a reason', () => {
    const refused = (because: 'exists' | 'missing' | 'conflict', expected?: number) =>
      problems(
        write('patch', [21, 22], { version: 0, mark: 'x' }, { expected, outcome: { ok: false, because } }),
      );
    expect(refused('missing')).toMatch(/was refused \(missing\)/);
    expect(refused('conflict', 15)).toMatch(/was refused \(conflict\)/);
    expect(refused('conflict', 14)).toBe('');
    const exists = write('create', [17, 18], { version: 0, mark: 'x', of: 'configmaps/default/c' });
    expect(problems({ ...exists, outcome: { ok: false, because: 'exists' } })).toMatch(
      /was refused \(exists\)/,
    );
  });

  it('a stale list', () => {
    expect(problems(list([21, 22], [13], [second, neighbour]))).toMatch(
      /shows version 13, and 15 had been seen/,
    );
  });

  it('a list that leaves something out, has too much, or something of another time', () => {
    expect(problems(list([21, 22], [15], [neighbour]))).toMatch(/item 0 is configmaps\/default\/b/);
    expect(problems(list([21, 22], [15], [again]))).toMatch(/it has 1 items of 2/);
    expect(problems(list([14, 15], [14], [second, neighbour]))).toMatch(
      /item 0 is configmaps\/default\/a 12/,
    );
    expect(problems(list([21, 22], [15], [{ ...again, base: 'x' }, neighbour]))).toMatch(/item 0/);
  });

  it('a list at a version that shows another', () => {
    expect(problems(list([21, 22], [13], [second, neighbour], { exact: 12 }))).toMatch(
      /shows 13 instead of 12/,
    );
    expect(problems(list([21, 22], [12], [second, neighbour], { exact: 12 }))).toMatch(/item 1/);
  });

  it('pages that are not of one state', () => {
    expect(problems(list([14, 18], [13, 15], [second, neighbour]))).toMatch(/its pages show versions 13, 15/);
    expect(problems(list([21, 22], [15, 15], [again, { ...neighbour, version: 12 }]))).toMatch(/item 1/);
  });

  it('a version that was said to be too old too soon', () => {
    const expiry = { what: 'a list', version: 900, newestKnown: 1000 };
    expect(checkExpiries([expiry], 100)).toEqual([]);
    expect(checkExpiries([expiry], 200)).toEqual(['a list: version 900 was gone, and the newest is 1000']);
  });

  it('versions that fall', () => {
    expect(checkOperations(logOf(changed(second), changed(first)), []).join()).toMatch(
      /version 11 comes after 12/,
    );
  });
});
