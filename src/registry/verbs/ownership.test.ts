/** Proves that the text of what a creator owns is that of the field set, for every kind; and what entries leave out. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtinKinds } from '../../api/kinds/kinds.ts';
import { arbitraryObject, isFlat } from '../../api/model/table-objects.fixture.ts';
import { createdText } from '../../api/ownership/ownership-text.ts';
import type { ApiObject, JsonObject } from '../../api/text/object.ts';
import { fieldSetText } from '../../api/values/field-set.ts';
import { Entry } from '../view/entry.ts';
import { ownedByCreator } from './ownership.ts';

describe('what a creator owns', () => {
  test.each(
    builtinKinds
      .filter(({ model }) => isFlat(model))
      .map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind] as const),
  )('is written as the set is: %s', (_name, kind) => {
    fc.assert(
      fc.property(arbitraryObject(kind.model), (made) => {
        const object = {
          ...made,
          metadata: { ...(made.metadata as JsonObject), managedFields: undefined },
        };
        const text = createdText(kind.model, object, kind.changes.main.resets.roots);
        expect(text).toBe(fieldSetText(ownedByCreator(kind, object as unknown as ApiObject)));
      }),
      { numRuns: 25 },
    );
  });
});

const deployments = builtinKinds.find(({ id }) => id === 'apps/deployments')!;
const entryOf = (text: string): Entry => Entry.of(deployments, 'n', 'd', Buffer.from(text), 7);
const list = (name: string): string =>
  `[{"manager":${JSON.stringify(name)},"operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`;

describe('a stored object', () => {
  test.each([['kubectl'], ['}]},"spec":{"x":[{"'], ['},"a'], ['\\"}]},"s']])(
    'is read without its managed fields, whatever their manager is called: %s',
    (name) => {
      for (const end of ['}', ',"spec":{"replicas":1}}']) {
        const entry = entryOf(
          `{"kind":"Deployment","metadata":{"uid":"u","labels":{"a":"]}"},"managedFields":${list(name)}}${end}`,
        );
        expect(entry.object().metadata).toEqual({ uid: 'u', resourceVersion: '7', labels: { a: ']}' } });
        expect(entry.object().spec).toEqual(end === '}' ? undefined : { replicas: 1 });
        expect(entry.managed!.text).toBe(list(name));
        expect(entry.shown()).toEqual(JSON.parse(entry.document.toString()));
      }
    },
  );

  test('keeps the managed fields of what is in it', () => {
    const template = `{"metadata":{"labels":{},"managedFields":${list('a')}},"spec":{}}`;
    const entry = entryOf(`{"metadata":{"uid":"u"},"spec":{"template":${template}}}`);
    expect(entry.managed).toBeUndefined();
    expect(entry.object().spec).toEqual({ template: JSON.parse(template) });
  });

  test('with managed fields that no server writes has none', () => {
    const stored = '[{"fieldsV1":{"x":[{"y":{}}]},"subresource":"s"}]';
    const entry = entryOf(`{"metadata":{"uid":"u","managedFields":${stored}},"spec":{"replicas":1}}`);
    expect(entry.managed).toBeUndefined();
    expect(entry.object()).toEqual({ metadata: { uid: 'u', resourceVersion: '7' }, spec: { replicas: 1 } });
  });
});
