/** Proves that the comparison reports objects as equal exactly when their encoded texts are equal. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import { rounds } from '../../../test/support/tier.ts';
import type { JsonObject } from '../text/object.ts';
import { decodeObject } from './decode.ts';
import { encodeObject } from './encode.ts';
import { encodesEqual } from './encoded-equality.ts';
import { modelOf } from './model.ts';

const podSpec = modelOf('PodSpec');

const small = fc.constantFrom('', 'a', 'b');
const quantities = fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.constantFrom('1', '2'));
const container = fc.record(
  {
    name: small,
    image: small,
    args: fc.array(small, { maxLength: 2 }),
    resources: fc.record({ limits: quantities, requests: quantities }, { requiredKeys: [] }),
    env: fc.array(fc.record({ name: small, value: small }, { requiredKeys: [] }), { maxLength: 2 }),
    securityContext: fc.record({ privileged: fc.boolean(), runAsUser: fc.nat(1) }, { requiredKeys: [] }),
    tty: fc.boolean(),
  },
  { requiredKeys: [] },
);
const spec = fc.record(
  {
    containers: fc.array(container, { maxLength: 2 }),
    nodeSelector: fc.dictionary(small, small),
    hostNetwork: fc.boolean(),
    terminationGracePeriodSeconds: fc.nat(1),
    securityContext: fc.record({ fsGroup: fc.nat(1) }, { requiredKeys: [] }),
    overhead: fc.constantFrom(undefined, null, {}, { cpu: '1' }),
  },
  { requiredKeys: [] },
);
/** In the working form, and as decoded from the store. */
const forms = spec.chain((value) => {
  const working = decodeObject(podSpec, value);
  return fc.constantFrom(working, JSON.parse(encodeObject(podSpec, working)) as JsonObject);
});

describe('objects that are written alike', () => {
  it('have the same text', () => {
    fc.assert(
      fc.property(forms, forms, (a, b) => {
        expect(encodesEqual(podSpec, a, b)).toBe(encodeObject(podSpec, a) === encodeObject(podSpec, b));
      }),
      { numRuns: rounds(2000) },
    );
  });

  it('are those of one object before and after it was stored', () => {
    fc.assert(
      fc.property(spec, (value) => {
        const working = decodeObject(podSpec, value);
        expect(encodesEqual(podSpec, working, JSON.parse(encodeObject(podSpec, working)))).toBe(true);
      }),
    );
  });
});

describe('the text of an object', () => {
  it('has its fields in wire order, however they were set, and those that are always written', () => {
    const text = encodeObject(modelOf('Container'), { image: 'i', resources: {}, name: 'n', command: ['c'] });
    expect(text).toBe('{"name":"n","image":"i","command":["c"],"resources":{}}');
    expect(encodeObject(modelOf('Container'), { tty: true })).toBe('{"name":"","resources":{},"tty":true}');
  });

  it('leaves out what the model does not know', () => {
    expect(encodeObject(modelOf('Container'), { name: 'n', colour: 'red' })).toBe(
      '{"name":"n","resources":{}}',
    );
  });

  it('holds every string as it is, in values and in keys', () => {
    const anything = anyText({ maxLength: 80 });
    fc.assert(
      fc.property(fc.dictionary(anything, anything), anything, (nodeSelector, hostname) => {
        const text = encodeObject(podSpec, { nodeSelector, hostname });
        const back = JSON.parse(text) as { nodeSelector?: JsonObject; hostname?: string };
        expect(new Map(Object.entries(back.nodeSelector ?? {}))).toEqual(
          new Map(Object.entries(nodeSelector)),
        );
        expect(back.hostname ?? '').toBe(hostname);
        expect(text).toBe(encodeObject(podSpec, JSON.parse(text)));
      }),
      {
        numRuns: rounds(1000),
        examples: [[JSON.parse('{"__proto__":"a","\\ud800":"\\u007f\\u2028"}'), '"\\\n']],
      },
    );
  });

  it('has the keys of maps sorted as text, numbers too', () => {
    const nodeSelector = { b: '1', 10: '2', 9: '3' };
    expect(encodeObject(podSpec, { nodeSelector })).toBe(
      '{"containers":[],"nodeSelector":{"10":"2","9":"3","b":"1"}}',
    );
  });
});
