// Proves the rules for annotations that the server interprets (kinds.md 9.4).
import { describe, expect, test } from 'vitest';
import { brief, podErrors } from '../../kinds/core/pod.fixture.ts';
import { podAnnotationChangeErrors } from './pod-annotations.ts';

describe('annotations', () => {
  const a = 'metadata.annotations';
  test.each([
    [
      'controller.kubernetes.io/pod-deletion-cost',
      '+1',
      [
        [
          `${a}[controller.kubernetes.io/pod-deletion-cost]`,
          'I',
          'Invalid value: "+1": must be a 32bit integer',
        ],
      ],
    ],
    ['controller.kubernetes.io/pod-deletion-cost', '-2147483648', []],
    [
      'kubernetes.io/config.mirror',
      'x',
      [
        [
          `${a}[kubernetes.io/config.mirror]`,
          'I',
          'Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
        ],
      ],
    ],
    [
      'scheduler.alpha.kubernetes.io/tolerations',
      '[{"key":"a","operator":"X"}]',
      [
        [
          `${a}.scheduler.alpha.kubernetes.io/tolerations[0].operator`,
          'N',
          'Unsupported value: "X": supported values: "Equal", "Exists"',
        ],
      ],
    ],
    [
      'seccomp.security.alpha.kubernetes.io/pod',
      'x',
      [
        [
          `${a}.seccomp.security.alpha.kubernetes.io/pod`,
          'I',
          'Invalid value: "x": must be a valid seccomp profile',
        ],
      ],
    ],
    [
      'container.apparmor.security.beta.kubernetes.io/c',
      'x',
      [
        [
          `${a}[container.apparmor.security.beta.kubernetes.io/c]`,
          'I',
          'Invalid value: "x": invalid AppArmor profile name: "x"',
        ],
      ],
    ],
    [
      'container.apparmor.security.beta.kubernetes.io/z',
      'unconfined',
      [
        [
          `${a}[container.apparmor.security.beta.kubernetes.io/z]`,
          'I',
          'Invalid value: "z": container not found',
        ],
      ],
    ],
    ['container.apparmor.security.beta.kubernetes.io/c', 'localhost/x', []],
  ])('%s: %s', (name, value, errors) => {
    expect(podErrors({}, { annotations: { [name]: value } })).toEqual(errors);
  });

  test.each(['{', 'null', '[1]', '[{"key":1}]', '{"a":1}'])('unreadable tolerations: %s', (text) => {
    const errors = podErrors({}, { annotations: { 'scheduler.alpha.kubernetes.io/tolerations': text } });
    expect(errors).toHaveLength(1);
  });

  test('profiles for AppArmor stay as they were when the pod was created', () => {
    const name = 'container.apparmor.security.beta.kubernetes.io/c';
    const path = `${a}[${name}]`;
    const changed = (now?: object, old?: object) =>
      brief([...podAnnotationChangeErrors(now as Record<string, string>, old as Record<string, string>, a)]);
    const [confined, free] = [{ [name]: 'runtime/default' }, { [name]: 'unconfined' }];
    expect(changed({ ...confined, b: '2' }, { ...confined, b: '1' })).toEqual([]);
    expect(changed(free)).toEqual([[path, 'F', 'Forbidden: may not add AppArmor annotations']]);
    for (const now of [undefined, free])
      expect(changed(now, confined)).toEqual([
        [path, 'F', 'Forbidden: may not remove or update AppArmor annotations'],
      ]);
  });
});
