// Proves the rules for resources of containers (kinds.md 9.2, 5.4) and of whole pods (9.4).
import { describe } from 'vitest';
import { container, testContainers, testSpecs } from '../../kinds/core/pod.fixture.ts';

const c = 'spec.containers[0]';

describe('resources', () => {
  const resources = (requests: object, limits: object = {}) => ({ resources: { requests, limits } });
  const r = `${c}.resources`;
  testContainers([
    [
      'bad name',
      resources({ 'a b': '1' }),
      [
        `${r}.requests[a b]`,
        'I',
        `Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      ],
      [`${r}.requests[a b]`, 'I', 'Invalid value: "a b": must be a standard resource for containers'],
    ],
    [
      'name without a prefix',
      resources({ gpu: '1' }),
      [
        `${r}.requests[gpu]`,
        'I',
        'Invalid value: "gpu": must be a standard resource type or fully qualified',
      ],
      [`${r}.requests[gpu]`, 'I', 'Invalid value: "gpu": must be a standard resource for containers'],
    ],
    [
      'standard name that is not for containers',
      resources({ pods: '1' }),
      [`${r}.requests[pods]`, 'I', 'Invalid value: "pods": must be a standard resource for containers'],
    ],
    [
      'name with a prefix that leads nowhere',
      resources({ 'requests.a/b': '1' }, { 'requests.a/b': '1' }),
      [
        `${r}.limits[requests.a/b]`,
        'I',
        `Invalid value: "requests.a/b": doesn't follow extended resource name standard`,
      ],
      [
        `${r}.requests[requests.a/b]`,
        'I',
        `Invalid value: "requests.a/b": doesn't follow extended resource name standard`,
      ],
    ],
    [
      'negative',
      resources({ cpu: '-1' }),
      [`${r}.requests[cpu]`, 'I', 'Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      'half of an extended resource',
      resources({ 'a.b/c': '500m' }, { 'a.b/c': '500m' }),
      [`${r}.limits[a.b/c]`, 'I', 'Invalid value: "500m": must be an integer'],
      [`${r}.requests[a.b/c]`, 'I', 'Invalid value: "500m": must be an integer'],
    ],
    [
      'request above limit',
      resources({ cpu: '2' }, { cpu: '1' }),
      [`${r}.requests`, 'I', 'Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [
      'extended resource: request below limit',
      resources({ 'a.b/c': '1' }, { 'a.b/c': '2' }),
      [`${r}.requests`, 'I', 'Invalid value: "1": must be equal to a.b/c limit of 2'],
    ],
    [
      'extended resource: no limit',
      resources({ 'a.b/c': '1' }),
      [`${r}.limits`, 'R', 'Required value: Limit must be set for non overcommitable resources'],
    ],
    [
      'huge pages without cpu or memory',
      resources({}, { 'hugepages-2Mi': '2Mi' }),
      [r, 'F', 'Forbidden: HugePages require cpu or memory'],
    ],
    [
      'half of a huge page',
      resources({ cpu: '1' }, { 'hugepages-2Mi': '1Mi' }),
      [
        `${r}.limits[hugepages-2Mi]`,
        'I',
        'Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi',
      ],
      [
        `${r}.requests[hugepages-2Mi]`,
        'I',
        'Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi',
      ],
    ],
    ['request below limit', resources({ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '1Gi' })],
    [
      'resizePolicy: resource',
      { resizePolicy: [{ resourceName: 'x', restartPolicy: 'NotRequired' }] },
      [`${c}.resizePolicy`, 'N', 'Unsupported value: "x": supported values: "cpu", "memory"'],
    ],
    [
      'resizePolicy: policy',
      { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'x' }] },
      [
        `${c}.resizePolicy`,
        'N',
        'Unsupported value: "x": supported values: "NotRequired", "RestartContainer"',
      ],
    ],
    [
      'resizePolicy: repeated',
      {
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        ],
      },
      [`${c}.resizePolicy[1]`, 'D', 'Duplicate value: "cpu"'],
    ],
  ]);
});

describe('resources of the pod', () => {
  const spec = (requests: object, limits: object = {}) => ({
    containers: [
      container({ resources: { requests: { cpu: '1' } } }),
      container({ name: 'd', resources: { requests: { cpu: '500m' } } }),
    ],
    resources: { requests, limits },
  });
  testSpecs([
    [
      'below the sum of the containers',
      spec({ cpu: '1' }),
      [
        'spec.resources.requests[cpu]',
        'I',
        'Invalid value: "1": must be greater than or equal to aggregate container requests of 1500m',
      ],
    ],
    ['enough', spec({ cpu: '1500m' })],
    [
      'request above limit',
      spec({ cpu: '3' }, { cpu: '2' }),
      ['spec.resources.requests', 'I', 'Invalid value: "3": must be less than or equal to cpu limit of 2'],
    ],
  ]);
});
