/** Proves that pages show programs of `examples/` as they are. Before a release they are also run. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

it('docs/testing.md shows the suite in Go', () => {
  expect(read('docs/testing.md')).toContain(read('examples/go/configmap_test.go'));
});
