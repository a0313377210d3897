// Proves PodTemplate (kinds.md 20.2): its template has the defaults and rules of templates, and shows in tables.
import { expect, test } from 'vitest';
import type { PodTemplate } from '../../generated/types.ts';
import { columnDefinitions } from '../../kind/table.ts';
import { shownCells } from '../kind.fixture.ts';
import { brief, container, made, stored } from './pod.fixture.ts';
import { podTemplate } from './pod-template.ts';

const make = (template: object): PodTemplate =>
  made(podTemplate, {
    metadata: { name: 't' },
    template: { spec: { containers: [container()] }, ...template },
  });

test('defaults', () => {
  expect(make({}).template!.spec).toMatchObject({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
  const empty = made<PodTemplate>(podTemplate, { metadata: { name: 't' } });
  expect(empty.template!.spec!.restartPolicy).toBe('Always');
});

test('rules', () => {
  expect(podTemplate.validate!(make({}))).toEqual([]);
  expect(brief(podTemplate.validate!(make({ metadata: { labels: { a: '-' } }, spec: {} })))).toEqual([
    ['template.labels', 'I', expect.stringMatching(/^Invalid value: "-": a valid label must be/)],
    ['template.spec.containers', 'R', 'Required value'],
  ]);
});

test('warnings once per change of the template', () => {
  const object = make({
    spec: { containers: [container()], nodeSelector: { 'beta.kubernetes.io/arch': 'x' } },
  });
  const warning =
    'template.spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead';
  expect(podTemplate.warnings!(object, undefined)).toEqual([warning]);
  expect(podTemplate.warnings!(object, stored(podTemplate, object))).toEqual([]);
});

test('table', () => {
  expect(columnDefinitions(podTemplate).map(({ name }) => name)).toEqual([
    'Name',
    'Containers',
    'Images',
    'Pod Labels',
  ]);
  const containers = [container(), { name: 'd', image: 'j' }];
  expect(
    shownCells(podTemplate, make({ metadata: { labels: { b: '2', a: '1' } }, spec: { containers } }), 0),
  ).toEqual(['t', 'c,d', 'i:1,j', 'a=1,b=2']);
  expect(shownCells(podTemplate, make({}), 0)[3]).toBe('<none>');
});
