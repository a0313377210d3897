/** Proves that tolerations are merged as Kubernetes merges those of a runtime class into a pod. */
import { expect, it } from 'vitest';
import { mergedTolerations } from './toleration-merge.ts';

const exists = (key: string, effect?: string) => ({ key, operator: 'Exists', ...(effect ? { effect } : {}) });

it.each([
  ['others stay, in their order', [exists('a'), exists('b')], [exists('a'), exists('b')]],
  ['equal ones are one', [exists('a', 'NoSchedule'), exists('a', 'NoSchedule')], [exists('a', 'NoSchedule')]],
  ['any effect covers one', [exists('a', 'NoSchedule'), exists('a')], [exists('a')]],
  ['Exists covers values', [{ key: 'a', value: 'x' }, exists('a')], [exists('a')]],
  ['every key covers all', [exists('a'), { operator: 'Exists' }], [{ operator: 'Exists' }]],
  [
    'other values stay',
    [
      { key: 'a', value: 'x' },
      { key: 'a', operator: 'Equal', value: 'y' },
    ],
    [
      { key: 'a', value: 'x' },
      { key: 'a', operator: 'Equal', value: 'y' },
    ],
  ],
  [
    'the longer time covers the shorter',
    [
      { ...exists('a', 'NoExecute'), tolerationSeconds: 5 },
      { ...exists('a', 'NoExecute'), tolerationSeconds: 9 },
    ],
    [{ ...exists('a', 'NoExecute'), tolerationSeconds: 9 }],
  ],
])('%s', (_name, all, merged) => {
  expect(mergedTolerations(all)).toEqual(merged);
});
