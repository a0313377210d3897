/**
 * Builds the dashboard from `web/`: modules that are loaded when a view needs them, with a hash of their contents in
 * their names. They are kept compressed alone, which is how nearly all browsers take them, and makes the package small.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';
import { commonChunk } from './page-chunks.mjs';
import { xtermPolicy } from './xterm-policy.mjs';

const fastQuality = 4;
const first = 'web/main.tsx';
const start = 'web/start.tsx';
/** Small modules that several views use, and the frame of the dashboard with all that it needs. */
const common = [
  'web/shell/shell.tsx',
  ...['quantity', 'socket', 'text/line-diff', 'text/yaml-text'].map((name) => `web/core/${name}.ts`),
  ...['adopted-style.ts', 'age.tsx', 'command.ts', 'command-line.tsx', 'diff.tsx', 'plot.tsx', 'tone.ts'].map(
    (name) => `web/ui/${name}`,
  ),
  ...['object/action-dialog.tsx', 'object/tabs.ts', 'object/event-time.ts', 'object/many-actions.ts'].map(
    (name) => `web/views/${name}`,
  ),
  'web/views/pods/containers.ts',
];

/**
 * Returns the files that were read, by esbuild's metafile.
 * @param small compress as well as possible, which takes seconds
 */
export async function buildWeb(folder, { small }) {
  mkdirSync(folder, { recursive: true });
  const { outputFiles, metafile } = await build({
    entryPoints: { main: first, icon: 'web/icon.svg' },
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
    plugins: [xtermPolicy, commonChunk(common)],
    outdir: folder,
    write: false,
    metafile: true,
    logLevel: 'warning',
  });
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: small ? constants.BROTLI_MAX_QUALITY : fastQuality,
  };
  const { cssBundle } = outputOf(metafile, first).output;
  const style = outputFiles.find(({ path: file }) => path.basename(file) === path.basename(cssBundle));
  for (const { path: file, contents } of outputFiles)
    if (file !== style.path) writeFileSync(`${file}.br`, brotliCompressSync(contents, { params }));
  writeFileSync(path.join(folder, 'index.html'), indexPage(metafile, style.text));
  return metafile.inputs;
}

function outputOf({ outputs }, file) {
  const [name, output] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === file);
  return { name: path.basename(name), output };
}

/**
 * The dashboard itself, with the names of the first script and of what it loads after the first paint. The style sheet
 * is in it: the first paint then needs one request.
 */
function indexPage(metafile, style) {
  const { outputs } = metafile;
  const main = outputOf(metafile, first).name;
  const { name, output } = outputOf(metafile, start);
  const parts = output.imports.filter(({ kind }) => kind === 'import-statement');
  const preloads = [name, ...parts.map((part) => path.basename(part.path))].map(
    (file) => `<link rel="modulepreload" href="{{ui}}${file}">`,
  );
  const icon = Object.keys(outputs).find((name) => name.endsWith('.svg'));
  return readFileSync('web/index.html', 'utf8')
    .replace('{{icon}}', path.basename(icon))
    .replace('{{style}}', () => style.trim())
    .replace('{{preloads}}', preloads.join('\n    '))
    .replace('{{script}}', main);
}
