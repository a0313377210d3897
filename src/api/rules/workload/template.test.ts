// Proves how the rules for templates differ from those for pods (kinds.md 9.2 to 9.4).
import { describe, expect, test } from 'vitest';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { brief, type Expected } from '../../kinds/core/pod.fixture.ts';
import { defaultPodTemplate, validatePodTemplate } from './template.ts';

const qualifiedText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

describe('templates', () => {
  const errorsOf = (template: PodTemplateSpec) => {
    defaultPodTemplate(template);
    return brief(validatePodTemplate(template, 'spec.template'));
  };
  const good = () => [{ name: 'c', image: 'i' }];
  const cases: [string, PodTemplateSpec, ...Expected[]][] = [
    [
      'labels and annotations leave metadata out of the path',
      { metadata: { labels: { 'a b': '' }, annotations: { 'a b': '' } }, spec: { containers: good() } },
      ['spec.template.labels', 'I', `Invalid value: "a b": ${qualifiedText}`],
      ['spec.template.annotations', 'I', `Invalid value: "a b": ${qualifiedText}`],
    ],
    [
      'ephemeral containers',
      { spec: { containers: good(), ephemeralContainers: [{ name: 'e', image: 'i' }] } },
      [
        'spec.template.spec.ephemeralContainers',
        'F',
        'Forbidden: ephemeral containers not allowed in pod template',
      ],
    ],
    ['images may have blanks', { spec: { containers: [{ name: 'c', image: ' i ' }] } }],
    [
      'ports on the node may be left open',
      { spec: { hostNetwork: true, containers: [{ ...good()[0], ports: [{ containerPort: 80 }] }] } },
    ],
    [
      'but not be others',
      {
        spec: {
          hostNetwork: true,
          containers: [{ ...good()[0], ports: [{ containerPort: 80, hostPort: 81 }] }],
        },
      },
      [
        'spec.template.spec.containers[0].ports[0].hostPort',
        'I',
        'Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
      ],
    ],
    [
      'a token needs no account yet',
      {
        spec: {
          containers: good(),
          volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
        },
      },
    ],
  ];
  test.each(cases.map(([name, template, ...errors]) => ({ name, template, errors })))('$name', (one) => {
    expect(errorsOf(one.template)).toEqual(one.errors);
  });
});
