/** Proves that a template is recognised by its text, and that the names of replica sets are valid. */
import { describe, expect, it } from 'vitest';
import { subdomainName } from '../../api/values/names.ts';
import { replicaSetName, templateHash, templateText } from './template-hash.ts';

const template = (labels: Record<string, string>, image = 'i:1') => ({
  metadata: { labels },
  spec: { containers: [{ name: 'c', image }] },
});
const hash = (image: string, collisionCount?: number) =>
  templateHash({
    metadata: {},
    spec: { template: template({ app: 'web' }, image) },
    status: collisionCount === undefined ? {} : { collisionCount },
  });

describe('the text of a template', () => {
  it('is the same with a hash among its labels, and in any order', () => {
    const text = templateText(template({ app: 'web', tier: 'front' }));
    expect(templateText(template({ tier: 'front', 'pod-template-hash': 'x', app: 'web' }))).toBe(text);
    expect(templateText(template({ app: 'web', tier: 'back' }))).not.toBe(text);
    expect(templateText(template({ app: 'web', tier: 'front' }, 'i:2'))).not.toBe(text);
  });

  it('tells nothing from an empty thing where that means something', () => {
    const withVolume = (source: object) => templateText({ spec: { volumes: [{ name: 'v', ...source }] } });
    expect(withVolume({ emptyDir: {} })).not.toBe(withVolume({}));
  });
});

describe('a hash', () => {
  it('is the same for the same template, and another after a collision', () => {
    expect(hash('i:1')).toBe(hash('i:1'));
    expect(new Set([hash('i:1'), hash('i:2'), hash('i:1', 1), hash('i:1', 2)]).size).toBe(4);
    expect(hash('i:1')).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  });
});

describe('the name of a replica set', () => {
  it('is that of the deployment with the hash, cut where it would be too long', () => {
    expect(replicaSetName('web', 'abc')).toBe('web-abc');
    const long = replicaSetName(`${'a'.repeat(240)}..${'b'.repeat(11)}`, 'c'.repeat(10));
    expect(long).toBe(`${'a'.repeat(240)}-${'c'.repeat(10)}`);
    expect(subdomainName(long, false)).toEqual([]);
    expect(replicaSetName('a'.repeat(253), 'c'.repeat(10)).length).toBe(253);
  });
});
