/** Proves how policy files are read, in both forms, and how broken ones are refused. */
import { describe, expect, it } from 'vitest';
import { AbacAuthorizer, readPolicies } from './abac.ts';
import { asks, user } from './authorization.fixture.ts';

const abac = (...lines: string[]): AbacAuthorizer => new AbacAuthorizer(readPolicies(lines.join('\n'), 'f'));
const modern = (spec: object): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const jo = user('jo', 'ops', 'system:authenticated');
const anonymous = user('system:anonymous', 'system:unauthenticated');

describe('a policy without a version', () => {
  it('means all authenticated users, resources, groups and paths where it says nothing', () => {
    const authorizer = abac('{}');
    expect(authorizer.decide(asks(jo, 'delete apps:deployments x', 'y')).allowed).toBe(true);
    expect(authorizer.decide(asks(jo, 'post /x')).allowed).toBe(true);
    expect(authorizer.decide(asks(anonymous, 'get pods', 'y')).allowed).toBe(false);
    expect(abac('{"user":"*","namespace":"y"}').decide(asks(jo, 'get /x')).allowed).toBe(false);
  });
});

describe('a policy with a version', () => {
  it('matches nothing where it says nothing', () => {
    const authorizer = abac(modern({ user: 'jo', resource: 'pods', namespace: 'y' }));
    expect(authorizer.decide(asks(jo, 'get pods x', 'y')).allowed).toBe(true);
    expect(authorizer.decide(asks(jo, 'get apps:pods x', 'y')).allowed).toBe(false);
    expect(authorizer.decide(asks(jo, 'list pods'))).toEqual({
      allowed: false,
      reason: 'No policy matched.',
    });
    expect(abac(modern({ resource: '*', namespace: '*' })).decide(asks(jo, 'get pods', 'y')).allowed).toBe(
      false,
    );
  });

  it('wants user and group when it names both, and reads only when it says so', () => {
    const authorizer = abac(modern({ user: 'jo', group: 'dev', nonResourcePath: '/v*', readonly: true }));
    expect(authorizer.decide(asks(jo, 'get /version')).allowed).toBe(false);
    const dev = user('jo', 'dev');
    expect(authorizer.decide(asks(dev, 'get /version')).allowed).toBe(true);
    expect(authorizer.decide(asks(dev, 'post /version')).allowed).toBe(false);
  });
});

it.each([
  ['{', /^error reading policy file f, line 2: \{: /],
  ['[]', /line 2: \[\]: a policy is a JSON object/],
  ['{"user":1}', /line 2: .*: user is a string/],
  ['{"kind":"Policy"}', /a policy is of kind Policy and version/],
  [modern([]), /line 2/],
])('the file is refused for the line %s', (line, message) => {
  expect(() => abac('# first', line)).toThrow(message);
});
