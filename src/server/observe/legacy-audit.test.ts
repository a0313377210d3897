/** Proves the old format of audit events. */
import { expect, it } from 'vitest';
import { legacyLine } from './legacy-audit.ts';

const event = {
  auditID: 'a-1',
  stage: 'ResponseComplete',
  requestURI: '/api/v1/namespaces/default/pods?x="y"',
  verb: 'list',
  user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
  sourceIPs: ['127.0.0.1', '10.0.0.1'],
  userAgent: 'tester/1.0',
  objectRef: { resource: 'pods', namespace: 'default' },
  responseStatus: { metadata: {}, code: 200 },
  requestReceivedTimestamp: '2026-01-31T12:00:00.000000Z',
};

it('names who asked for what, in one line', () => {
  expect(legacyLine(`${JSON.stringify(event)}\n`)).toBe(
    '2026-01-31T12:00:00.000000Z AUDIT: id="a-1" stage="ResponseComplete" ip="127.0.0.1" method="list" user="admin" ' +
      'groups="\\"system:masters\\",\\"system:authenticated\\"" as="<self>" asgroups="<lookup>" user-agent="tester/1.0" ' +
      'namespace="default" uri="/api/v1/namespaces/default/pods?x=\\"y\\"" response="200"\n',
  );
});

it('has words for what is not known', () => {
  const { objectRef: _, responseStatus: __, ...bare } = event;
  const line = legacyLine(
    JSON.stringify({ ...bare, user: {}, sourceIPs: [], impersonatedUser: { username: 'b' } }),
  );
  expect(line).toContain(
    'ip="<unknown>" method="list" user="<none>" groups="<none>" as="b" asgroups="<lookup>"',
  );
  expect(line).toContain('namespace="<none>"');
  expect(line).toContain('response="<deferred>"');
});
