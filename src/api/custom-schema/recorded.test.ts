/**
 * Recorded answers of a Kubernetes server about schemas and objects, replayed on the functions of this folder. The whole
 * sequences are replayed over HTTP in `test/`.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { CompiledSchema, Schema } from '../model/json-schema.ts';
import type { JsonObject } from '../text/object.ts';
import { compileSchema } from './compiled-schema.ts';
import { checkSchema, formatWarnings } from './schema-check.ts';

interface Cause {
  reason: string;
  field: string;
  message: string;
}

interface RecordedCase {
  name: string;
  method: string;
  path: string;
  body?: JsonObject;
  expect: {
    code: number;
    at?: Record<string, unknown>;
    warnings?: string[];
    object?: JsonObject;
    details?: { causes?: Cause[] };
  };
}

const { cases } = JSON.parse(
  readFileSync(new URL('../../../test/recorded/crd-cases.json', import.meta.url), 'utf8'),
) as { cases: RecordedCase[] };

const named = (name: string): RecordedCase => cases.find((one) => one.name === name)!;

function compiled(definition: string): CompiledSchema {
  const { spec } = named(definition).body as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  return compileSchema(spec.versions[0]!.schema.openAPIV3Schema);
}

const sorted = (causes: readonly Cause[]): Cause[] =>
  [...causes].sort((a, b) => (a.field + a.message < b.field + b.message ? -1 : 1));

const causesOf = (schema: CompiledSchema, object: JsonObject, old?: JsonObject): Cause[] =>
  sorted(
    schema
      .validate(object, old ? { old } : {})
      .errors.map(({ reason, field, message }) => ({ reason, field, message })),
  );

const widgets = compiled('widgets: create widgets');

describe('objects are pruned and defaulted', () => {
  it.each(
    cases.filter(
      ({ name, method, expect: { object }, body }) =>
        /^objects: (create with|default makes|nested default|unknown field warns)/.test(name) &&
        method === 'POST' &&
        object &&
        body,
    ),
  )('$name', ({ body, expect: { object, warnings = [] } }) => {
    const given = structuredClone(body!);
    const unknown = widgets.prune(given);
    widgets.applyDefaults(given);
    expect(given.spec).toEqual(object!.spec);
    expect(unknown.map((path) => `unknown field "${path}"`)).toEqual(warnings);
    expect(causesOf(widgets, given)).toEqual([]);
  });
});

describe('objects are validated', () => {
  it.each(
    cases.filter(
      ({ name, body, expect: { code } }) =>
        name.startsWith('validation: ') &&
        typeof body === 'object' &&
        code !== 400 &&
        !/replicas$/.test(name),
    ),
  )('$name', ({ body, expect: { details } }) => {
    const given = structuredClone(body!);
    widgets.prune(given);
    widgets.applyDefaults(given);
    expect(causesOf(widgets, given)).toEqual(sorted(details?.causes ?? []));
  });

  it.each(cases.filter(({ name, expect: { code } }) => name.startsWith('validation: ') && code === 400))(
    '$name',
    ({ body, expect: answer }) => {
      const message = (answer as { message?: string }).message!.replace(/^.*?handled as a Widget: /, '');
      expect(() => widgets.prune(structuredClone(body!))).toThrow(message);
    },
  );
});

describe('schemas are checked', () => {
  it.each(
    cases.filter(
      ({ name, expect: { at, details, code } }: RecordedCase) =>
        name.startsWith('crd schema: ') && (code === 201 || details || at),
    ),
  )('$name', ({ body, expect: { at = {}, details, warnings = [] } }) => {
    const { spec } = body as unknown as {
      spec: { versions: { schema: { openAPIV3Schema: Schema }; subresources?: { status?: object } }[] };
    };
    const [version] = spec.versions;
    const path = 'spec.validation.openAPIV3Schema';
    const { openAPIV3Schema: schema } = version!.schema;
    const found = checkSchema(schema, path, { statusEnabled: !!version!.subresources?.status });
    const causes = found.map(({ reason, field, message }) => ({ reason, field, message }));
    if (at['/details/causes/0/message']) expect(causes[0]?.message).toBe(at['/details/causes/0/message']);
    else expect(sorted(causes)).toEqual(sorted(details?.causes ?? []));
    expect(formatWarnings(schema)).toEqual(warnings);
  });
});
