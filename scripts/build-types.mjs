/** Writes the types of the package into one file, `dist/index.d.ts`, and the same as `index.d.cts` for CommonJS. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { publicDeclarations } from './publictypes.mjs';

const folder = path.join(path.dirname(import.meta.dirname), 'dist');

/** Without `export {}` at its end, TypeScript takes every name of such a file for an exported one. */
function typesText() {
  const parts = publicDeclarations().map(({ node, comment, exported }) => {
    const code = node.getText().replace(/^export /, '');
    return `${comment ? `${comment}\n` : ''}${exported ? 'export ' : ''}${code}\n`;
  });
  return `${parts.join('\n')}\nexport {};\n`;
}

const text = typesText();
for (const name of ['index.d.ts', 'index.d.cts']) writeFileSync(path.join(folder, name), text);
