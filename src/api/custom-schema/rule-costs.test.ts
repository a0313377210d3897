/**
 * Proves that rules are estimated as by Kubernetes, to the step: by schemas whose estimates were measured (functions,
 * formats, keys of maps, lists of lists, loops in loops, and generated ones), and by generated schemas against the rules
 * that say how large a value can be.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import { compileNodeRules } from './rule-compilation.ts';
import { ruleDefinitionErrors } from './rule-definitions.ts';
import { requestBytesMax } from './rule-types.ts';

/** Path of the node, cost of the rule, how often the node can occur if nothing bounds it, cost of the message. */
type Measured = [path: string, cost: number | null, times: number, message: number | null];

const recorded: { schema: Schema; costs: Measured[] }[] = JSON.parse(
  readFileSync(new URL('../../../test/recorded/rule-costs.json', import.meta.url), 'utf8'),
);

/** Where rules are, with their node, in the order of the recorded costs. */
function* ruleNodes(schema: Schema, path = 'self'): Generator<[string, Schema]> {
  if (schema['x-kubernetes-validations']) yield [path, schema];
  const { properties = {}, items, additionalProperties } = schema;
  for (const name of Object.keys(properties).sort())
    yield* ruleNodes(properties[name] as Schema, `${path}.${name}`);
  if (items && !Array.isArray(items)) yield* ruleNodes(items, `${path}[]`);
  if (typeof additionalProperties === 'object') yield* ruleNodes(additionalProperties, `${path}{}`);
}

/** What nothing bounds is not told apart from what is far above every limit. */
const shown = (cost: number | undefined): number | null => (cost === undefined || cost > 1e15 ? null : cost);

function costsOf(schema: Schema): (Measured | string)[] {
  return Array.from(ruleNodes(schema)).flatMap(([path, node]) => {
    const { type, rules } = compileNodeRules(node, path === 'self');
    const times = Math.floor(requestBytesMax / (type.bytesMin + 1));
    return rules.map(({ program, message, error, messageError }): Measured | string =>
      program
        ? [path, shown(program.costMax), times, message ? shown(message.costMax) : 0]
        : String(error ?? messageError),
    );
  });
}

const bodyBytes = 3 * 1024 * 1024;

describe('estimates', () => {
  it.each(recorded.map(({ schema, costs }) => [JSON.stringify(schema).slice(0, 80), schema, costs] as const))(
    'are those of Kubernetes: %s',
    (_, schema, costs) => {
      const rules = Array.from(ruleNodes(schema)).flatMap(
        ([, node]) => node['x-kubernetes-validations']?.map(({ rule }) => rule) ?? [],
      );
      const told = (all: readonly unknown[]): unknown[] => all.map((cost, index) => [rules[index], cost]);
      expect(told(costsOf(schema))).toEqual(told(costs));
    },
  );
});

it('take one step for matches(text, pattern), whatever is matched, other than for text.matches(pattern)', () => {
  const schema = (rule: string): Schema => ({ type: 'string', 'x-kubernetes-validations': [{ rule }] });
  const pattern = `'^/(api/)?v[0-9]+$'`;
  const [[, asFunction]] = costsOf(schema(`matches(url(self).getEscapedPath(), ${pattern})`)) as [Measured];
  const [[, asMethod]] = costsOf(schema(`url(self).getEscapedPath().matches(${pattern})`)) as [Measured];
  // The text is read by url(); it, the path and the match are a step each.
  expect(asFunction).toBe(Math.ceil((bodyBytes - 2) / 10) + 3);
  expect(asMethod).toBeNull();
});

/** A schema, the bytes its smallest value takes and the size of its largest one, by the rules in plain words. */
interface Modelled {
  readonly schema: Schema;
  readonly bytesMin: number;
  readonly sizeMax: number;
  /** The model of each item or value. */
  readonly inner?: Modelled;
}

const text: fc.Arbitrary<Modelled> = fc.oneof(
  fc.constant({ schema: { type: 'string' }, bytesMin: 2, sizeMax: bodyBytes - 2 }),
  fc
    .nat(200)
    .map((maxLength) => ({ schema: { type: 'string', maxLength }, bytesMin: 2, sizeMax: 4 * maxLength })),
  fc.array(fc.string({ maxLength: 9 }), { minLength: 1, maxLength: 3 }).map((values) => ({
    schema: { type: 'string', enum: values },
    bytesMin: 2,
    sizeMax: Math.max(...values.map((value) => Buffer.byteLength(value))),
  })),
);

const container = (items: fc.Arbitrary<Modelled>): fc.Arbitrary<Modelled> =>
  fc.tuple(items, fc.option(fc.nat(50), { nil: undefined }), fc.boolean()).map(([inner, max, isMap]) => {
    const bound = max === undefined ? {} : isMap ? { maxProperties: max } : { maxItems: max };
    const schema: Schema = isMap
      ? { type: 'object', additionalProperties: inner.schema, ...bound }
      : { type: 'array', items: inner.schema, ...bound };
    // A key has its quotes, a colon and a comma, and at least two characters.
    const each = inner.bytesMin + (isMap ? 6 : 1);
    return { schema, bytesMin: 2, sizeMax: max ?? Math.floor((bodyBytes - 2) / each), inner };
  });

/** `self.all(x, self[x]…)` down to the innermost value, which is compared with itself. */
function walkingRule({ schema, sizeMax, inner }: Modelled, value: string, depth = 0): [string, number] {
  if (!inner) {
    // Both sides are read, and as many characters compared as there can be.
    return [`${value} == ${value}`, 2 * readSteps(value) + Math.ceil(sizeMax * 0.1)];
  }
  const name = `x${depth}`;
  const isMap = schema.type === 'object';
  const [body, steps] = walkingRule(inner, isMap ? `${value}[${name}]` : name, depth + 1);
  return [`${value}.all(${name}, ${body})`, readSteps(value) + 1 + sizeMax * (3 + steps)];
}

/** A variable is one step; an entry by its key is one more, and one for the key. */
const readSteps = (value: string): number => 1 + 2 * (value.match(/\[/g)?.length ?? 0);

describe('generated schemas', () => {
  const nested = container(fc.oneof(text, container(fc.oneof(text, container(text)))));

  it('cost what sizes and occurrences multiply to', () => {
    fc.assert(
      fc.property(nested, (modelled) => {
        const [rule, steps] = walkingRule(modelled, 'self');
        const node: Schema = { ...modelled.schema, 'x-kubernetes-validations': [{ rule }] };
        expect(costsOf(node)).toEqual([
          ['self', shown(steps), Math.floor(bodyBytes / (modelled.bytesMin + 1)), 0],
        ]);
      }),
    );
  });

  it('are refused exactly when that is above the limit, times how often the node can occur', () => {
    fc.assert(
      fc.property(
        nested,
        fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
        (modelled, maxItems) => {
          const [rule, steps] = walkingRule(modelled, 'self');
          const node: Schema = { ...modelled.schema, 'x-kubernetes-validations': [{ rule }] };
          const list: Schema = {
            type: 'array',
            items: node,
            ...(maxItems === undefined ? {} : { maxItems }),
          };
          const schema: Schema = { type: 'object', properties: { spec: list } };
          const times = maxItems ?? Math.floor(bodyBytes / (modelled.bytesMin + 1));
          const refused = ruleDefinitionErrors(schema, 'schema', []).some(({ message }) =>
            message.includes('estimated rule cost exceeds budget'),
          );
          expect(refused).toBe(steps * times > 10_000_000);
        },
      ),
    );
  });
});

describe('names of objects', () => {
  it('are as long as their own schema says, unless rules around them see them without it', () => {
    const name: Schema = {
      type: 'string',
      maxLength: 63,
      'x-kubernetes-validations': [{ rule: 'self.matches(self)' }],
    };
    const schema: Schema = {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name } } },
    };
    expect(ruleDefinitionErrors(schema, 'schema', [])).toEqual([]);
    const around: Schema = { ...schema, 'x-kubernetes-validations': [{ rule: 'has(self.metadata)' }] };
    const { message } = ruleDefinitionErrors(around, 'schema', [])[0] ?? {};
    expect(message).toContain('estimated rule cost exceeds budget by factor of more than 100x');
  });
});
