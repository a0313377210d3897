/**
 * Writes the types of the package: those of the embedding API into one file, `dist/index.d.cts`, which `index.d.ts` exports
 * for ES modules as `index.js` does the code; those of the test kit likewise into `testing.d.cts`.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { publicDeclarations, testingDeclarations } from './public-types.mjs';

const folder = path.join(path.dirname(import.meta.dirname), 'dist');

/** The declarations with `export {}` at the end: without it, TypeScript exports every name of such a file. */
function typesText(declarations) {
  const parts = declarations.map(({ node, comment, exported }) => {
    // Indented as this project is; the compiler's four spaces took two kilobytes more.
    const code = node
      .getText()
      .replace(/^export /, '')
      .replace(/^(?: {4})+/gm, (spaces) => spaces.slice(spaces.length / 2));
    return `${comment ? `${comment}\n` : ''}${exported ? 'export ' : ''}${code}\n`;
  });
  return `${parts.join('\n')}\nexport {};\n`;
}

/** @param ending of the files that are imported: each form of the types imports its own */
function testingText({ declarations, shared, foreign }, ending) {
  const peers = foreign.map(
    ([name, from]) =>
      `// @ts-ignore: without this optional package, the type is any\nimport type { ${name} } from '${from}';\n`,
  );
  const own = `import type { ${shared.join(', ')} } from './index.${ending}';\n`;
  return `${peers.join('')}${own}\n${typesText(declarations)}`;
}

const runnerText = (
  runner,
  ending,
) => `import type { TestCluster, TestClusterOptions } from './testing.${ending}';
export * from './testing.${ending}';
/**
 * Starts a cluster before the first test of a file, with the hooks of ${runner}, resets it before each test and closes it
 * after the last. What it gives can be used inside of tests and hooks.
 */
export declare const useCluster: (options?: TestClusterOptions) => TestCluster;
`;

writeFileSync(path.join(folder, 'index.d.cts'), typesText(publicDeclarations()));
writeFileSync(path.join(folder, 'index.d.ts'), "export * from './index.cjs';\n");
const testing = testingDeclarations();
for (const [ending, form] of [
  ['d.ts', 'js'],
  ['d.cts', 'cjs'],
]) {
  const write = (name, text) => writeFileSync(path.join(folder, `${name}.${ending}`), text);
  write('testing', form === 'cjs' ? testingText(testing, form) : "export * from './testing.cjs';\n");
  for (const [file, runner] of [
    ['vitest', 'Vitest'],
    ['jest', 'Jest'],
    ['node', 'node:test'],
  ])
    write(`testing-${file}`, runnerText(runner, form));
}
