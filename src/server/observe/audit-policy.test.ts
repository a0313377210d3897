/** Proves which rule of an audit policy is for a request, and that policies which cannot be meant are refused. */
import { describe, expect, it } from 'vitest';
import type { Action } from '../../api/kind/access.ts';
import { type AuditPolicy, readAuditPolicy } from './audit-policy.ts';

const policy = (rules: readonly object[], rest: object = {}): AuditPolicy =>
  readAuditPolicy(JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules, ...rest }));

const alice = { name: 'alice', groups: ['dev', 'qa'] };

function of(text: string): Action {
  const [verb = '', where = ''] = text.split(' ');
  if (where.startsWith('/')) return { verb, path: where, resource: undefined };
  const [group = '', namespace = '', resource = '', name, subresource] = where.split(':');
  return {
    verb,
    path: '',
    resource: { group, version: 'v1', resource, subresource, namespace: namespace || undefined, name },
  };
}

describe('a rule', () => {
  const cases: [object, string, boolean][] = [
    [{}, 'get /healthz', true],
    [{ users: ['alice'] }, 'get /healthz', true],
    [{ users: ['bob'] }, 'get /healthz', false],
    [{ userGroups: ['x', 'qa'] }, 'get /healthz', true],
    [{ userGroups: ['x'] }, 'get /healthz', false],
    [{ verbs: ['get'] }, 'get :ns:pods:p', true],
    [{ verbs: ['list'] }, 'get :ns:pods:p', false],
    [{ namespaces: ['ns'] }, 'get :ns:pods:p', true],
    [{ namespaces: ['ns'] }, 'get /healthz', false],
    [{ namespaces: [''] }, 'get ::nodes:n', true],
    [{ namespaces: [''] }, 'get :ns:pods:p', false],
    [{ resources: [{ group: '' }] }, 'get :ns:pods:p:log', true],
    [{ resources: [{ group: '' }] }, 'get apps:ns:deployments:d', false],
    [{ resources: [{ group: '*' }] }, 'get apps:ns:deployments:d', true],
    [{ resources: [{ resources: ['pods'] }] }, 'get :ns:pods:p', true],
    [{ resources: [{ resources: ['pods'] }] }, 'get :ns:pods:p:log', false],
    [{ resources: [{ resources: ['pods/log'] }] }, 'get :ns:pods:p:log', true],
    [{ resources: [{ resources: ['pods/*'] }] }, 'get :ns:pods:p:log', true],
    [{ resources: [{ resources: ['pods/*'] }] }, 'get :ns:pods:p', true],
    [{ resources: [{ resources: ['*/scale'] }] }, 'get :ns:replicationcontrollers:r:scale', true],
    [{ resources: [{ resources: ['*'] }] }, 'get :ns:pods:p:log', true],
    [{ resources: [{ resources: ['pods'], resourceNames: ['p'] }] }, 'get :ns:pods:p', true],
    [{ resources: [{ resources: ['pods'], resourceNames: ['q'] }] }, 'get :ns:pods:p', false],
    [{ resources: [{ resources: ['pods'] }] }, 'get /healthz', false],
    [{ nonResourceURLs: ['/healthz*'] }, 'get /healthz/etcd', true],
    [{ nonResourceURLs: ['/healthz'] }, 'get /healthz/etcd', false],
    [{ nonResourceURLs: ['*'] }, 'get /version', true],
    [{ nonResourceURLs: ['*'] }, 'get :ns:pods:p', false],
  ];
  it.each(cases)('%j for %s: %s', (rule, action, isMatch) => {
    const found = policy([{ level: 'Metadata', ...rule }]).ruleFor(alice, of(action));
    expect(found.level).toBe(isMatch ? 'Metadata' : 'None');
  });

  it('about users is not for requests of nobody', () => {
    const rules = [{ level: 'Request', users: ['alice'] }, { level: 'Metadata' }];
    expect(policy(rules).ruleFor(undefined, of('get /x')).level).toBe('Metadata');
    expect(policy(rules).ruleFor(alice, of('get /x')).level).toBe('Request');
  });

  it('omits what it and the policy say', () => {
    const rules = [
      { level: 'Metadata', verbs: ['get'], omitStages: ['Panic'], omitManagedFields: false },
      { level: 'Metadata' },
    ];
    const read = policy(rules, { omitStages: ['RequestReceived'], omitManagedFields: true });
    const first = read.ruleFor(alice, of('get /x'));
    expect([...first.omittedStages]).toEqual(['RequestReceived', 'Panic']);
    expect(first.omitManagedFields).toBe(false);
    expect(read.ruleFor(alice, of('post /x')).omitManagedFields).toBe(true);
  });
});

describe('a policy is refused', () => {
  it.each([
    [
      [{ level: 'All' }],
      {},
      'rules[0].level must be one of None, Metadata, Request, RequestResponse, not "All"',
    ],
    [[{}], {}, 'rules[0].level must be text'],
    [[], {}, 'rules must name at least one rule'],
    [[{ level: 'None', user: ['a'] }], {}, 'there is no field "rules[0].user"'],
    [[{ level: 'None', nonResourceURLs: ['x'] }], {}, 'rules[0].nonResourceURLs[0] must begin with a slash'],
    [[{ level: 'None', nonResourceURLs: ['/a*b'] }], {}, 'may have a star at its end only'],
    [[{ level: 'None', nonResourceURLs: ['/a'], namespaces: ['b'] }], {}, 'rules[0] must be about'],
    [
      [{ level: 'None', resources: [{ resourceNames: ['a'] }] }],
      {},
      'rules[0].resources[0].resourceNames needs',
    ],
    [[{ level: 'None', omitStages: ['End'] }], {}, 'rules[0].omitStages[0] must be one of'],
    [[{ level: 'None' }], { kind: 'Pod' }, 'kind must be one of Policy, not "Pod"'],
    [
      [{ level: 'None' }],
      { apiVersion: 'audit.k8s.io/v1beta1' },
      'apiVersion must be one of audit.k8s.io/v1',
    ],
  ])('%j %j', (rules, rest, problem) => expect(() => policy(rules, rest)).toThrow(problem));
});
