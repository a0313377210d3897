/**
 * Proves that generated writers produce the same text as a loop over the model, and that no field name can become
 * code.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import type { JsonObject } from '../text/object.ts';
import { generatedLater, generatedWriter } from './generated-writer.ts';
import { type Model, modelOf } from './model.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The encoder, loaded with this switch set. */
async function encoder(plain: '0' | '1'): Promise<typeof import('./encode.ts')> {
  vi.stubEnv('WHERRY_PLAIN', plain);
  vi.resetModules();
  return import('./encode.ts');
}

/** Objects with some of a model's fields, set to random values of the right type. */
const objectOf = (model: Model, depth = 3): fc.Arbitrary<JsonObject> =>
  fc.subarray([...model.order], { maxLength: Math.min(8, model.order.length) }).chain((fields) =>
    fc.record(Object.fromEntries(fields.map((field) => [field.name, anyValue(field, depth)])), {
      requiredKeys: [],
    }),
  );

function anyValue(field: Model['order'][number], depth: number): fc.Arbitrary<unknown> {
  const unset = fc.constantFrom(undefined, null);
  switch (field.type) {
    case 'model':
      return depth > 0 ? fc.oneof(unset, fc.constant({}), objectOf(field.model, depth - 1)) : unset;
    case 'array':
      return fc.oneof(unset, fc.array(anyValue(field.items!, depth - 1), { maxLength: 2 }));
    case 'map':
      return fc.oneof(unset, fc.dictionary(fc.string(), anyValue(field.values!, depth - 1), { maxKeys: 3 }));
    case 'boolean':
      return fc.oneof(unset, fc.boolean());
    case 'integer':
    case 'number':
      return fc.oneof(unset, fc.constantFrom(0, 1, -5, 2 ** 40, 0.5));
    case 'raw':
      return fc.oneof(unset, fc.jsonValue());
    default:
      return fc.oneof(unset, fc.constantFrom('', 'text', '"\\\u0000ü', 'x'.repeat(70)));
  }
}

describe.each(['Pod', 'Service', 'PersistentVolume', 'Node', 'apps-v1:Deployment'])('a %s', (name) => {
  it('has the same text with and without generated code', async () => {
    const generated = await encoder('0');
    const walking = await encoder('1');
    const model = modelOf(name);
    fc.assert(
      fc.property(objectOf(model), (object) => {
        expect(generated.encodeObject(model, object)).toBe(walking.encodeObject(model, object));
      }),
      { numRuns: rounds(300), endOnFailure: true },
    );
  });
});

const write = (value: unknown) => JSON.stringify(value);

it('takes a field name for a name, whatever it says', () => {
  const names = ['"]; throw 1; //', '\\', '\u2028', '__proto__'];
  const model = { order: names.map((name) => ({ name })) } as unknown as Model;
  const writer = generatedWriter(
    model,
    names.map(() => write),
  );
  if (!writer) return;
  const object = JSON.parse(`{${names.map((name, i) => `${JSON.stringify(name)}:${i + 1}`).join()}}`);
  expect(JSON.parse(writer(object))).toEqual(object);
});

it('is not made where code may not be made of strings', async () => {
  class Forbidden {
    constructor() {
      throw new EvalError('Code generation from strings disallowed for this context');
    }
  }
  const { encodeObject } = await encoder('0');
  vi.stubGlobal('Function', Forbidden);
  expect(generatedWriter(modelOf('Container'), [])).toBeUndefined();
  for (let i = 0; i < 100; i++)
    expect(encodeObject(modelOf('Container'), { name: 'n' })).toBe('{"name":"n","resources":{}}');
});

it('is made once, after some calls', () => {
  const generate = vi.fn(() => (value: string) => `generated ${value}`);
  const writer = generatedLater((value: string) => `looped ${value}`, generate);
  expect(writer('a')).toBe('looped a');
  expect(generate).not.toHaveBeenCalled();
  for (let i = 0; i < 100; i++) writer('b');
  expect(writer('c')).toBe('generated c');
  expect(generate).toHaveBeenCalledTimes(1);
});

it('goes on with a loop where no code can be generated', () => {
  const generate = vi.fn(() => undefined);
  const writer = generatedLater((value: string) => `looped ${value}`, generate);
  for (let i = 0; i < 100; i++) expect(writer('a')).toBe('looped a');
  expect(generate).toHaveBeenCalledTimes(1);
});
