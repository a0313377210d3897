import { describe, expect, it } from 'vitest';
import { parseImageName, pullPolicyOf, repositoryOf } from './image-name.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('the name of an image', () => {
  it.each([
    ['nginx', 'docker.io/library/nginx', undefined, undefined],
    ['team/api:2', 'docker.io/team/api', '2', undefined],
    ['localhost/busybox:1', 'localhost/busybox', '1', undefined],
    ['127.0.0.1:5000/a/b', '127.0.0.1:5000/a/b', undefined, undefined],
    [`quay.io/a/b:v1@${digest}`, 'quay.io/a/b', 'v1', digest],
    ['index.docker.io/library/nginx', 'docker.io/library/nginx', undefined, undefined],
  ])('%s has its parts', (text, repository, tag, sum) => {
    // Proves that short names mean what they mean to every engine.
    const name = parseImageName(text)!;
    expect([repositoryOf(name), name.tag, name.digest]).toEqual([repository, tag, sum]);
  });

  it.each([
    '',
    'A',
    '/usr/bin/node',
    './x',
    'a b',
    'a:',
    'a:b:c',
    'a@sha256:12',
    'a/../b',
    '-',
    'x'.repeat(300),
  ])('%j is none', (text) => {
    // Proves that such a text is never sent to an engine.
    expect(parseImageName(text)).toBeUndefined();
  });

  it('decides on the pull policy of a container without one', () => {
    // Proves that a moving tag is pulled every time.
    const policy = (text: string, given?: string) => pullPolicyOf(parseImageName(text)!, given);
    expect(['a', 'a:latest', 'a:1', `a@${digest}`].map((text) => policy(text))).toEqual([
      'Always',
      'Always',
      'IfNotPresent',
      'IfNotPresent',
    ]);
    expect(policy('a', 'Never')).toBe('Never');
  });
});
