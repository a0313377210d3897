/** Proves that values made from a schema have all that it wants, and nothing that it forbids. */
import { expect, it } from 'vitest';
import { KindSchema } from '../../core/schema.ts';
import { sampleValue } from './sample-value.ts';

it('fills in required fields with values that are allowed', () => {
  const schema = {
    properties: {
      length: { type: 'integer', minimum: 3 },
      colour: { type: 'string', enum: ['red', 'blue'] },
      name: { type: 'string', minLength: 9 },
      sails: { items: { properties: { area: { type: 'number' } }, required: ['area'] } },
      paid: { type: 'boolean', default: true },
      port: { 'x-kubernetes-int-or-string': true },
      labels: { additionalProperties: { type: 'string' } },
      left: { type: 'string' },
    },
    required: ['length', 'colour', 'name', 'sails', 'paid', 'port', 'labels'],
  };
  expect(sampleValue(new KindSchema({}, schema), schema, 'spec')).toEqual({
    length: 3,
    colour: 'red',
    name: 'examplexx',
    sails: [{ area: 1 }],
    paid: true,
    port: 1,
    labels: {},
  });
});

it('ends in schemas that refer to themselves', () => {
  const tree = { properties: { child: { $ref: '#/tree' } }, required: ['child'] };
  expect(JSON.stringify(sampleValue(new KindSchema({ tree }, tree), tree, 'tree')).length).toBeLessThan(200);
});
