/** Proves that features of engines are known by their versions, and that none is expected of an unknown engine. */
import { expect, it } from 'vitest';
import { criFeatures } from './cri-features.ts';

it.each([
  ['containerd', '1.6.20~ds1', false, false],
  ['containerd', '1.31.0', false, false],
  ['containerd', 'v2.0.5', false, false],
  ['containerd', '2.1.9+ds1', true, false],
  ['containerd', 'v2.2.0-rc.1', true, true],
  ['containerd', '3.0.0', true, true],
  ['cri-o', '1.30.4', false, false],
  ['cri-o', '1.31.0', true, false],
  ['cri-o', '1.33.1', true, true],
  ['other', '9.9.9', false, false],
  ['containerd', '', false, false],
])('%s %s: images as volumes %s, parts of them %s', (name, version, imageMounts, imageSubPaths) => {
  expect(criFeatures(name, version)).toEqual({ imageMounts, imageSubPaths });
});
