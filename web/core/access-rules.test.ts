/** Proves what the rules of a user allow. */
import { expect, it } from 'vitest';
import { allows, allowsPath, type Rules, unknownRules } from './access-rules.ts';

const rules: Rules = {
  resourceRules: [
    { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods', 'pods/log'] },
    { verbs: ['*'], apiGroups: ['apps'], resources: ['*'] },
    { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] },
    { verbs: ['patch'], apiGroups: [''], resources: ['*/scale'] },
  ],
  nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/readyz', '/api/*'] }],
  incomplete: false,
};
const core = (verb: string, resource: string, more: { subresource?: string; name?: string } = {}) =>
  allows(rules, { verb, group: '', resource, ...more });

it('is what a rule lists, by verb, group, resource, part and name', () => {
  expect(core('list', 'pods')).toBe(true);
  expect(core('get', 'pods', { subresource: 'log' })).toBe(true);
  expect(core('create', 'pods', { subresource: 'exec' })).toBe(false);
  expect(core('delete', 'pods')).toBe(false);
  expect(core('get', 'secrets', { name: 'mine' })).toBe(true);
  expect(core('get', 'secrets', { name: 'other' })).toBe(false);
  expect(core('list', 'secrets')).toBe(false);
  expect(core('patch', 'replicationcontrollers', { subresource: 'scale' })).toBe(true);
  expect(core('patch', 'replicationcontrollers')).toBe(false);
  const scale = { verb: 'patch', group: 'apps', resource: 'deployments', subresource: 'scale' };
  expect(allows(rules, scale)).toBe(true);
  expect(allows(rules, { ...scale, group: 'batch' })).toBe(false);
});

it('is a path, or all below one', () => {
  expect(allowsPath(rules, 'get', '/readyz')).toBe(true);
  expect(allowsPath(rules, 'get', '/api/v1')).toBe(true);
  expect(allowsPath(rules, 'get', '/metrics')).toBe(false);
  expect(allowsPath(rules, 'post', '/readyz')).toBe(false);
});

it('is everything where rules cannot be listed: the server will say what is refused', () => {
  expect(allows(unknownRules, { verb: 'delete', group: '', resource: 'nodes' })).toBe(true);
  expect(allowsPath(unknownRules, 'get', '/metrics')).toBe(true);
});
