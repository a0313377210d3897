/** Proves what the title of the browser's tab says about each view. */
import { expect, it } from 'vitest';
import type { Kind } from '../core/kinds.ts';
import { titleOf } from './title.ts';

const pods = { id: 'pods', kind: 'Pod', resource: 'pods' } as Kind;
const titleAt = (path: string, query = '') =>
  titleOf({ path: path.split('/').filter(Boolean), query: new URLSearchParams(query) }, (id) =>
    id === 'pods' ? pods : undefined,
  );

it.each([
  ['', '', 'Overview · Wherry'],
  ['', 'ns=shop', 'Overview · shop · Wherry'],
  ['timeline', 'ns=shop', 'Timeline · shop · Wherry'],
  ['list/pods', '', 'Pods · Wherry'],
  ['list/pods', 'ns=shop&at=4711', 'Past · Pods · shop · Wherry'],
  ['list/gone.example.com', '', 'gone.example.com · Wherry'],
  ['object/pods/shop/web-1', 'ns=other', 'web-1 · Pod · shop · Wherry'],
  ['object/pods/-/web-1', '', 'web-1 · Pod · Wherry'],
  ['create/pods', 'ns=shop', 'Create Pod · shop · Wherry'],
])('of /%s?%s', (path, query, title) => {
  expect(titleAt(path, query)).toBe(title);
});
