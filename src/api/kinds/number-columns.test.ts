/** Proves that columns whose cells are numbers have the type that Kubernetes 1.36 gives them. */
import { expect, test } from 'vitest';
import { columnDefinitions } from '../kind/table.ts';
import { controllerRevision } from './apps/controller-revision.ts';
import { flowSchema } from './flowcontrol/flow-schema.ts';

test.each([
  [controllerRevision, 'Revision', 'string'],
  [flowSchema, 'MatchingPrecedence', 'string'],
])('$kind', (kind, name, type) => {
  expect(columnDefinitions(kind).find((column) => column.name === name)?.type).toBe(type);
});
