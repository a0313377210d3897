/** Proves that values are shown as Go prints its structs: every field, capitalized; selectors as on the wire. */
import { expect, it } from 'vitest';
import { innerForm } from './inner-form.ts';
import { modelOf } from './model.ts';

it('unset fields are zero or null', () => {
  expect(innerForm(modelOf('Toleration'), { key: 'x', value: 'y' })).toEqual({
    Key: 'x',
    Operator: '',
    Value: 'y',
    Effect: '',
    TolerationSeconds: null,
  });
});

it('metadata of templates is embedded, and left out when it is empty', () => {
  const model = modelOf('ResourceClaimTemplateSpec', 'resource-v1');
  const Spec = { Devices: { Requests: null, Constraints: null, Config: null } };
  expect(innerForm(model, {})).toEqual({ Spec });
  expect(innerForm(model, { metadata: { labels: { a: 'b' } } })).toEqual({ labels: { a: 'b' }, Spec });
});

it('selectors are as on the wire', () => {
  const { PodSelector } = innerForm(modelOf('NetworkPolicySpec', 'networking-v1'), {
    podSelector: { matchLabels: { a: 'b' } },
  });
  expect(PodSelector).toEqual({ matchLabels: { a: 'b' } });
});
