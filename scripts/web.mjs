/**
 * Builds the page from `web/`: modules that are loaded when a view needs them, with a hash of their contents in their
 * names. They are kept compressed alone, which is how nearly all browsers take them, and makes the package small.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';
import { xtermPolicy } from './xtermpolicy.mjs';

const fastQuality = 4;

/**
 * Returns the files that were read, by esbuild's metafile.
 * @param small compress as well as possible, which takes seconds
 */
export async function buildWeb(folder, { small }) {
  mkdirSync(folder, { recursive: true });
  const { outputFiles, metafile } = await build({
    entryPoints: { main: 'web/main.tsx', icon: 'web/icon.svg' },
    tsconfig: 'web/tsconfig.json',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    minify: true,
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    plugins: [xtermPolicy],
    outdir: folder,
    write: false,
    metafile: true,
    logLevel: 'warning',
  });
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: small ? constants.BROTLI_MAX_QUALITY : fastQuality,
  };
  for (const { path: file, contents } of outputFiles)
    writeFileSync(`${file}.br`, brotliCompressSync(contents, { params }));
  writeFileSync(path.join(folder, 'index.html'), indexPage(metafile));
  return metafile.inputs;
}

/** The page itself, with the names of the first script, of what it imports at once, and of the style sheet. */
function indexPage({ outputs }) {
  const [main, entry] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'web/main.tsx');
  const preloads = entry.imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path: name }) => `<link rel="modulepreload" href="/ui/${path.basename(name)}">`);
  const icon = Object.keys(outputs).find((name) => name.endsWith('.svg'));
  return readFileSync('web/index.html', 'utf8')
    .replace('{{icon}}', path.basename(icon))
    .replace('{{style}}', path.basename(entry.cssBundle))
    .replace('{{preloads}}', preloads.join('\n    '))
    .replace('{{script}}', path.basename(main));
}
