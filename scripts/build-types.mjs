/** Writes the types of the package into one file, `dist/index.d.ts`, and the same as `index.d.cts` for CommonJS. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { publicDeclarations } from './publictypes.mjs';

const folder = path.join(path.dirname(import.meta.dirname), 'dist');

/** The declarations with `export {}` at the end: without it, TypeScript exports every name of such a file. */
function typesText() {
  const parts = publicDeclarations().map(({ node, comment, exported }) => {
    const code = node.getText().replace(/^export /, '');
    return `${comment ? `${comment}\n` : ''}${exported ? 'export ' : ''}${code}\n`;
  });
  return `${parts.join('\n')}\nexport {};\n`;
}

const text = typesText();
for (const name of ['index.d.ts', 'index.d.cts']) writeFileSync(path.join(folder, name), text);
