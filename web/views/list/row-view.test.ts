/** Proves that rows are filtered and ordered, and that merging changes gives the same as ordering anew. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../core/live-table.ts';
import { labelTest, unreadPart } from './labels.ts';
import { rowStateOf } from './row-state.ts';
import { cellKey, RowView } from './row-view.ts';

const columns = ['Name', 'Ready', 'Age'].map((name, at) => ({ name, read: ({ cells }: Row) => cells[at] }));

const served = { type: 'string', format: '', description: '', priority: 0 };

const rowOf = (uid: string, name: string, ready: string, labels: Record<string, string> = {}): Row => ({
  uid,
  namespace: 'default',
  name,
  cells: [name, ready, ''],
  labels,
  createdMs: Number(uid),
  deleting: false,
  owner: undefined,
  mark: undefined,
  markedMs: 0,
});

const names = ({ rows }: RowView): string[] => rows.map(({ name }) => name);

describe('rows', () => {
  const rows = [
    rowOf('1', 'b', '10/10', { app: 'x' }),
    rowOf('2', 'a', '2/3'),
    rowOf('3', 'c', '1/1', { app: 'y' }),
  ];
  const wish = { text: '', labels: '', sort: '', state: '' };

  it('are in the order of names, or of a column, either way', () => {
    expect(names(new RowView(rows, wish, columns))).toEqual(['a', 'b', 'c']);
    expect(names(new RowView(rows, { ...wish, sort: 'Ready' }, columns))).toEqual(['c', 'a', 'b']);
    expect(names(new RowView(rows, { ...wish, sort: '-Ready' }, columns))).toEqual(['b', 'a', 'c']);
    expect(names(new RowView(rows, { ...wish, sort: 'Age' }, columns))).toEqual(['c', 'a', 'b']);
  });

  it('are those that fit all words and labels', () => {
    expect(names(new RowView(rows, { ...wish, text: 'default 2/3' }, columns))).toEqual(['a']);
    expect(names(new RowView(rows, { ...wish, labels: 'app!=y' }, columns))).toEqual(['a', 'b']);
  });

  it('have problems first, are counted by state, and are those of one state', () => {
    const names3 = ['Name', 'Ready', 'Status'].map((name) => ({ ...served, name }));
    const state = (name: string, ready: string, status: string): Row => ({
      ...rowOf(name, name, ready),
      cells: [name, ready, status],
    });
    const all = [
      state('a', '1/1', 'Running'),
      state('b', '0/1', 'CrashLoopBackOff'),
      state('c', '0/1', 'Running'),
      state('d', '0/1', 'Completed'),
    ];
    const view = new RowView(all, wish, columns, rowStateOf(names3));
    expect(names(view)).toEqual(['b', 'c', 'a', 'd']);
    expect(view.counts).toEqual({ failing: 1, waiting: 1, well: 2 });
    view.filter({ ...wish, state: 'failing' });
    expect(names(view)).toEqual(['b']);
    view.apply({ put: [state('b', '1/1', 'Running'), state('a', '0/1', 'Error')], removed: [], all: false });
    expect(names(view)).toEqual(['a']);
    expect(view.counts).toEqual({ failing: 1, waiting: 1, well: 2 });
  });

  it.each([
    [['Ready'], ['0/3'], 'failing'],
    [['Ready'], ['2/3'], 'waiting'],
    [['Ready'], ['0/0'], 'well'],
    [['Desired', 'Ready'], [3, 3], 'well'],
    [['Desired', 'Ready'], [3, 0], 'failing'],
    [['Ready'], ['False'], 'failing'],
    [['Status'], ['Ready,SchedulingDisabled'], 'waiting'],
    [['Type', 'Reason'], ['Warning', 'Failed'], 'waiting'],
    [['Ready', 'Available'], ['0/3', 0], 'failing'],
    [['Ready', 'Available'], ['0/3', '0'], 'failing'],
    [['Available'], ['False (MissingEndpoints)'], 'failing'],
    [['Data'], [3], undefined],
  ])('with %j of %j are %s', (names, cells, state) => {
    const typed = names.map((name, i) => ({ ...served, name, type: typeof cells[i] }));
    const found = rowStateOf(typed)({ ...rowOf('1', 'a', ''), cells });
    expect(found).toBe(state);
  });

  it('are after changes as if they had been ordered anew', () => {
    const row = fc.tuple(
      fc.nat({ max: 15 }),
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.constantFrom('1/1', '10/2', 'x'),
    );
    const batch = fc.array(row, { maxLength: 6 });
    fc.assert(
      fc.property(
        batch,
        fc.array(batch, { maxLength: 5 }),
        fc.constantFrom('', 'Ready', '-Name'),
        (start, batches, sort) => {
          const made = ([n, name, ready]: readonly [number, string, string]): Row =>
            rowOf(String(n), `${name}${n}`, ready);
          const all = new Map(start.map((each) => [String(each[0]), made(each)]));
          const view = new RowView(all.values(), { ...wish, sort, text: 'a' }, columns);
          for (const changes of batches) {
            const put = changes.filter(([, name]) => name !== 'd').map(made);
            const removed = changes.filter(([, name]) => name === 'd').map(([n]) => String(n));
            const kept = put.filter(
              ({ uid }, i) => !removed.includes(uid) && put.findLastIndex((each) => each.uid === uid) === i,
            );
            for (const uid of removed) all.delete(uid);
            for (const each of kept) all.set(each.uid, each);
            view.apply({ put: kept, removed, all: false });
          }
          expect(names(view)).toEqual(
            names(new RowView(all.values(), { ...wish, sort, text: 'a' }, columns)),
          );
        },
      ),
    );
  });

  it('are after a change of many rows, or of the search, as if they had been ordered anew', () => {
    const many = Array.from({ length: 600 }, (_, n) => rowOf(String(n), `n${n}`, `${n % 7}/9`));
    const sorted = { ...wish, sort: 'Ready' };
    const view = new RowView(many.slice(0, 300), sorted, columns);
    view.apply({ put: many.slice(250), removed: many.slice(0, 20).map(({ uid }) => uid), all: true });
    expect(names(view)).toEqual(names(new RowView(many.slice(20), sorted, columns)));
    for (const text of ['n1', 'n12', '3/9', '']) {
      view.filter({ ...sorted, text });
      expect(names(view)).toEqual(names(new RowView(many.slice(20), { ...sorted, text }, columns)));
    }
  });

  it('are ordered by numbers where cells begin with one', () => {
    expect(['10', '9', '2/3', '5 (3m ago)', 'x', '12Gi'].map(cellKey)).toEqual([10, 9, 2, 5, 'x', '12gi']);
  });
});

describe('label selectors', () => {
  const labels = { app: 'web', tier: 'front' };

  it.each([
    ['app=web', true],
    ['app==web,tier!=back', true],
    ['app in (api, web), tier', true],
    ['app notin (web)', false],
    ['!canary', true],
    ['canary', false],
    ['app=', false],
  ])('%s: %s', (text, fits) => expect(labelTest(text)(labels)).toBe(fits));

  it('that cannot be read are told, and fit nothing', () => {
    expect(unreadPart('a b c')).toBe('a b c');
    expect(labelTest('a b c')(labels)).toBe(false);
  });
});
