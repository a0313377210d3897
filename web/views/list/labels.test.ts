/** Proves which texts are label selectors, and which labels they fit. */
import { expect, it } from 'vitest';
import { labelTest, unreadPart } from './labels.ts';

const labels = { app: 'web', tier: 'front', 'example.com/size': '4', empty: '' };

it.each([
  'app=web',
  'app == web',
  'app!=db',
  'app in (web, db)',
  'tier notin (back)',
  'other notin (x)',
  'app',
  '!canary',
  '! canary',
  'example.com/size>3',
  'example.com/size<5',
  'empty=',
  'app=web,tier in (front,back),!canary',
  'app=web,',
  '',
])('fits: %s', (text) => {
  expect(unreadPart(text)).toBeUndefined();
  expect(labelTest(text)(labels)).toBe(true);
});

it.each([
  'app=db',
  'app!=web',
  'app in (db)',
  'app notin (web)',
  'other',
  '!app',
  'example.com/size>4',
  'app=web,other',
])('does not fit: %s', (text) => {
  expect(unreadPart(text)).toBeUndefined();
  expect(labelTest(text)(labels)).toBe(false);
});

it.each([
  ['app=web=db', 'app=web=db'],
  ['app in (web', 'app in (web'],
  ['app in web', 'app in web'],
  ['(app)', '(app)'],
  ['app)', 'app)'],
  ['=web', '=web'],
  ['app=-web', 'app=-web'],
  ['app web', 'app web'],
  ['app=web,,tier=front', ''],
  ['app=web,a b', 'a b'],
  ['a/b/c=d', 'a/b/c=d'],
])('is no selector: %s', (text, part) => {
  expect(unreadPart(text)).toBe(part);
  expect(labelTest(text)(labels)).toBe(false);
});
