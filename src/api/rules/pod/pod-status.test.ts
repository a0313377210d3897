// Proves what an update of a pod's status may change (kinds.md 10.5, 1.4): path, reason and text of every line.
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../generated/types.ts';
import { brief, type Expected, makePod, now, stored } from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';
import { decodeObject } from '../../model/decode.ts';

/** The errors of a status update of a stored pod. */
function statusUpdate(spec: object, before: object, after: object): { object: Pod; errors: unknown[] } {
  const base = makePod(spec);
  base.status = { ...base.status, ...before };
  const old = stored<Pod>(pod, base);
  const decoded = decodeObject(pod.model, { metadata: old.metadata, status: after }) as unknown as Pod;
  const object: Pod = { ...decoded, spec: stored<Pod>(pod, base).spec };
  pod.changes.status!.prepare!(object, old, { now });
  return { object, errors: brief(pod.changes.status!.validate!(object, old)) };
}

describe('status update', () => {
  const ended = (exitCode: number) => [{ name: 'c', state: { terminated: { exitCode } } }];
  const running = [{ name: 'c', state: { running: {} } }];
  const revived = (list: string): Expected => [
    `status.${list}[0].state`,
    'F',
    'Forbidden: may not be transitioned to non-terminated state',
  ];
  const ipText = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
  const cases: [name: string, spec: object, before: object, after: object, ...errors: Expected[]][] = [
    ['Always: a container comes back', {}, { containerStatuses: ended(0) }, { containerStatuses: running }],
    [
      'Never: it does not',
      { restartPolicy: 'Never' },
      { containerStatuses: ended(1) },
      { containerStatuses: running },
      revived('containerStatuses'),
    ],
    [
      'OnFailure: not after success',
      { restartPolicy: 'OnFailure' },
      { containerStatuses: ended(0) },
      { containerStatuses: running },
      revived('containerStatuses'),
    ],
    [
      'OnFailure: after failure',
      { restartPolicy: 'OnFailure' },
      { containerStatuses: ended(1) },
      { containerStatuses: running },
    ],
    [
      'init containers alike',
      { restartPolicy: 'Never' },
      { initContainerStatuses: ended(0) },
      { initContainerStatuses: running },
      revived('initContainerStatuses'),
    ],
    [
      'ephemeral containers never',
      {},
      { ephemeralContainerStatuses: ended(0) },
      { ephemeralContainerStatuses: running },
      revived('ephemeralContainerStatuses'),
    ],
    [
      'qosClass',
      {},
      {},
      { qosClass: 'Guaranteed' },
      ['status.qosClass', 'I', 'Invalid value: "Guaranteed": field is immutable'],
    ],
    [
      'condition type',
      {},
      {},
      { conditions: [{ type: 'Ready' }, { type: 'a b' }] },
      [
        'status.conditions[1].Type',
        'I',
        expect.stringMatching(/^Invalid value: "a b": name part must consist of alphanumeric characters/),
      ],
    ],
    ['podIP', {}, {}, { podIPs: [{ ip: 'x' }] }, ['status.podIPs[0]', 'I', `Invalid value: "x": ${ipText}`]],
    [
      'two podIPs of one family',
      {},
      {},
      { podIPs: [{ ip: '1.1.1.1' }, { ip: '1.1.1.2' }] },
      [
        'status.podIPs',
        'I',
        'Invalid value: [{"IP":"1.1.1.1"},{"IP":"1.1.1.2"}]: may specify no more than one IP for each IP family',
      ],
    ],
    [
      'three podIPs',
      {},
      {},
      { podIPs: [{ ip: '1.1.1.1' }, { ip: 'fd00::1' }, { ip: '1.1.1.2' }] },
      ['status.podIPs', 'I', expect.stringContaining('may specify no more than one IP for each IP family')],
    ],
    [
      'the same podIP twice',
      {},
      {},
      { podIPs: [{ ip: '1.1.1.1' }, { ip: '1.1.1.1' }] },
      ['status.podIPs', 'I', expect.stringContaining('may specify no more than one IP for each IP family')],
      ['status.podIPs[1]', 'D', 'Duplicate value: {"IP":"1.1.1.1"}'],
    ],
    ['one podIP of each family', {}, {}, { podIPs: [{ ip: '1.1.1.1' }, { ip: 'fd00::1' }] }],
    [
      'hostIPs',
      {},
      {},
      { hostIP: '1.1.1.1', hostIPs: [{ ip: '1.1.1.2' }] },
      ['status.hostIPs[0].ip', 'I', 'Invalid value: "1.1.1.2": must be equal to `hostIP`'],
    ],
    [
      'nominatedNodeName',
      {},
      {},
      { nominatedNodeName: 'A' },
      [
        'status.nominatedNodeName',
        'I',
        expect.stringMatching(/^Invalid value: "A": a lowercase RFC 1123 subdomain/),
      ],
    ],
    [
      'nominatedNodeName of a bound pod',
      { nodeName: 'n' },
      {},
      { nominatedNodeName: 'm' },
      ['status.nominatedNodeName', 'F', 'Forbidden: may not be set on pods that are already bound to a node'],
    ],
  ];
  test.each(cases.map(([name, spec, before, after, ...errors]) => ({ name, spec, before, after, errors })))(
    '$name',
    ({ spec, before, after, errors }) => {
      expect(statusUpdate(spec, before, after).errors).toEqual(errors);
    },
  );

  test.each([
    ['the old field fills the new one', {}, { podIP: '10.1.2.3' }, '10.1.2.3', ['10.1.2.3']],
    [
      'the new field fills the old one',
      {},
      { podIPs: [{ ip: '10.1.2.3' }, { ip: 'fd00::1' }] },
      '10.1.2.3',
      ['10.1.2.3', 'fd00::1'],
    ],
    ['the old one wins', {}, { podIP: '10.1.2.4', podIPs: [{ ip: '10.1.2.3' }] }, '10.1.2.4', ['10.1.2.4']],
  ])('podIP and podIPs: %s', (_name, before, after, ip, ips) => {
    const { status } = statusUpdate({}, before, after).object;
    expect([status!.podIP, status!.podIPs?.map((one) => one.ip)]).toEqual([ip, ips]);
  });

  test('what the client leaves out, and may not decide, is kept', () => {
    const owner = { apiVersion: 'v1', kind: 'ReplicationController', name: 'r', uid: 'u' };
    const base = makePod({}, { ownerReferences: [owner] });
    base.status!.observedGeneration = 3;
    const old = stored<Pod>(pod, base);
    const object: Pod = { ...stored<Pod>(pod, base), metadata: { name: 'x' }, status: { phase: 'Running' } };
    pod.changes.status!.prepare!(object, old, { now });
    expect(object.status).toEqual({ phase: 'Running', qosClass: 'BestEffort', observedGeneration: 3 });
    expect(object.metadata.ownerReferences).toEqual([owner]);
    expect(object.metadata.ownerReferences).not.toBe(old.metadata.ownerReferences);
  });
});
