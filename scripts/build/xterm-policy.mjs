/**
 * Lets xterm.js run under the page's Content-Security-Policy, which refuses style sheets without a nonce and `style`
 * attributes: its style elements get the nonce, and its attributes are set through `element.style`. The library has no
 * option for either.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const theme = path.resolve('web/core/theme.ts');
const sheet = /([\w.]+)\.createElement\("style"\)/g;
const attribute = /(\w+)\.setAttribute\("style",(`(?:[^`\\]|\\.)*`)\)/g;

export const xtermPolicy = {
  name: 'xterm-policy',
  setup(build) {
    build.onLoad({ filter: /@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8');
      if (!sheet.test(text) || !attribute.test(text))
        throw new Error(`${file} sets styles in another way than this build knows`);
      const contents = text
        .replaceAll(sheet, 'Object.assign($1.createElement("style"),{nonce:styleNonceOfPage()})')
        .replaceAll(attribute, '$1.style.cssText=$2');
      const source = JSON.stringify(theme);
      return { contents: `import { styleNonce as styleNonceOfPage } from ${source};\n${contents}` };
    });
  },
};
