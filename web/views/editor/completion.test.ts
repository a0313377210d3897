/** Proves that fields and values are offered from the schema, for the place where the cursor is. */
import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState } from '@codemirror/state';
import { describe, expect, test } from 'vitest';
import { KindSchema } from '../../core/schema.ts';
import { schemaCompletion } from './completion.ts';

const spec = {
  required: ['containers'],
  properties: {
    replicas: { type: 'integer' },
    paused: { type: 'boolean' },
    restartPolicy: { type: 'string', description: 'What happens at the end. Known values: Always, Never.' },
    containers: { type: 'array', items: { $ref: '#/components/schemas/Container' } },
  },
};
const container = { properties: { name: { type: 'string' }, image: { type: 'string' } } };
const schema = new KindSchema(
  { Spec: spec, Container: container },
  {
    properties: {
      kind: { type: 'string' },
      spec: { description: 'Own words', allOf: [{ $ref: '#/components/schemas/Spec' }] },
    },
  },
);

/** What is offered at `|`. */
function offered(marked: string): string[] | undefined {
  const state = EditorState.create({ doc: marked.replace('|', '') });
  const result = schemaCompletion(() => schema)(new CompletionContext(state, marked.indexOf('|'), true));
  return result?.options.map(({ label }) => label);
}

describe('completion from the schema', () => {
  test('fields that are not there yet', () => {
    expect(offered('kind: Pod\nsp|\n')).toEqual(['spec']);
    expect(offered('spec:\n  replicas: 1\n  pa|\n  paused: true\n')).toEqual(['restartPolicy', 'containers']);
  });

  test('fields of items', () => {
    expect(offered('spec:\n  containers:\n  - na|\n')).toEqual(['name', 'image']);
    expect(offered('spec:\n  containers:\n  - name: x\n    |\n')).toEqual(['image']);
  });

  test('values that are known', () => {
    expect(offered('spec:\n  paused: |\n')).toEqual(['true', 'false']);
    expect(offered('spec:\n  restartPolicy: Al|\n')).toEqual(['Always', 'Never']);
    expect(offered('spec:\n  replicas: |\n')).toBeUndefined();
  });
});
