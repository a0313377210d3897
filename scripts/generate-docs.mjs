#!/usr/bin/env node
/**
 * Fills in the generated parts of docs/: the help text in options.md, from the built command, and the reference in
 * embedding.md, from the types of src/cluster/index.ts. These parts are between `<!-- generated: NAME -->` and `<!-- end -->`.
 *
 *   node scripts/generate-docs.mjs           writes the pages (after node scripts/build.mjs)
 *   node scripts/generate-docs.mjs --check   exits 1 when a page is not what would be written
 *
 * Pages that are named are the only ones. `--types FILE` reads the types from what `build-types.mjs` has written.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values: asked, positionals: named } = parseArgs({
  options: { check: { type: 'boolean' }, types: { type: 'string' } },
  allowPositionals: true,
});
/** The page whose reference is made from types: the others need no TypeScript, which takes a second to load. */
const typedPage = 'docs/embedding.md';
const isTyped = !named.length || named.includes(typedPage);
const { commentOf, publicDeclarations, ts, writtenDeclarations } = isTyped
  ? await import('./public-types.mjs')
  : {};
const root = path.dirname(import.meta.dirname);
const runNote = 'run: node scripts/build.mjs && node scripts/generate-docs.mjs';

const pages = {
  'docs/options.md': { 'help of up': () => helpText('up', '--help'), help: () => helpText('--help-all') },
  [typedPage]: { reference: referenceText },
  'docs/compatibility.md': { kinds: kindsText },
};

/** What a command line that asks for help prints. */
const helpText = (...args) => {
  const help = execFileSync(process.execPath, [path.join(root, 'dist/cli.cjs'), ...args], {
    encoding: 'utf8',
  });
  return `\`\`\`\n$ wherry ${args.join(' ')}\n${help}\`\`\`\n`;
};

/** Every kind that a server lists, with its verbs and subresources, as Markdown. */
function kindsText() {
  const program = `
    const { start } = require(${JSON.stringify(path.join(root, 'dist/index.cjs'))});
    start({ store: 'memory', controllers: false }).then(async (cluster) => {
      const get = async (at) => (await fetch(cluster.url + at)).json();
      const { groups } = await get('/apis');
      const versions = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => '/apis/' + groupVersion));
      const lists = [];
      for (const at of ['/api/v1', ...versions]) lists.push(await get(at));
      process.stdout.write(JSON.stringify(lists));
      await cluster.close();
    });`;
  const lists = JSON.parse(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }));
  const rows = lists.flatMap(({ groupVersion, resources }) =>
    resources
      .filter(({ name }) => !name.includes('/'))
      .map(({ name, kind, verbs, namespaced }) => {
        const parts = resources
          .filter((one) => one.name.startsWith(`${name}/`))
          .map((one) => `${one.name.slice(name.length + 1)}: ${one.verbs.join(' ')}`);
        const scope = namespaced ? 'namespace' : 'cluster';
        return `| ${groupVersion} | ${kind} | ${scope} | ${verbsText(verbs)} | ${parts.join('; ')} |\n`;
      }),
  );
  return `| version | kind | scope | verbs | subresources |\n|---|---|---|---|---|\n${rows.join('')}`;
}

/** Most kinds have the same eight verbs. */
const verbsText = (verbs) => (verbs.length === 8 ? 'all' : verbs.join(' '));

/** The names a program starts with come first; the rest follows alphabetically. */
const firstNames = [
  'start',
  'StartOptions',
  'Cluster',
  'StartError',
  'startNode',
  'NodeOptions',
  'RunningNode',
];

function referenceText() {
  const rank = ({ name }) => (firstNames.includes(name) ? firstNames.indexOf(name) : firstNames.length);
  const declarations = asked.types ? writtenDeclarations(asked.types) : publicDeclarations();
  return declarations
    .filter(({ exported }) => exported)
    .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
    .map((declaration) => `### ${declaration.name}\n\n${sentence(declaration.comment)}${body(declaration)}`)
    .join('\n');
}

function body({ node }) {
  if (ts.isInterfaceDeclaration(node)) return membersTable(node.members);
  const code = node.getText().replace(/^export (?:declare )?/, '');
  return `\`\`\`ts\n${code.replace(/^ {4}/gm, '  ')}\n\`\`\`\n`;
}

function membersTable(members) {
  const rows = members.map((member) => {
    const type = ts.isMethodSignature(member)
      ? `(${member.parameters.map((one) => one.getText()).join(', ')}) => ${member.type.getText()}`
      : member.type.getText();
    const cells = [code(member.name.getText()), code(type.replace(/\s+/g, ' ')), plain(commentOf(member))];
    return `| ${cells.join(' | ')} |\n`;
  });
  return `| name | type | meaning |\n|---|---|---|\n${rows.join('')}`;
}

const code = (text) => `\`${text.replaceAll('|', '\\|')}\``;

const sentence = (comment) => (comment ? `${plain(comment)}\n\n` : '');

/** The text of a JSDoc comment on one line, for a table. */
function plain(comment = '') {
  const words = comment.replace(/^\/\*\*|\*\/$/g, '').replace(/^\s*\* ?/gm, ' ');
  return words.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|');
}

/** The page with its generated parts filled in. */
function filled(file, parts) {
  let text = readFileSync(path.join(root, file), 'utf8');
  for (const [name, make] of Object.entries(parts)) {
    const begin = `<!-- generated: ${name} -->\n`;
    const [from, to] = [text.indexOf(begin), text.indexOf('<!-- end -->', text.indexOf(begin))];
    if (from < 0 || to < 0) throw new Error(`${file} has no place for ${name}`);
    text = `${text.slice(0, from + begin.length)}\n${make()}\n${text.slice(to)}`;
  }
  return text;
}

function main() {
  const { check } = asked;
  const stale = [];
  for (const [file, parts] of Object.entries(pages)) {
    if (named.length && !named.includes(file)) continue;
    const text = filled(file, parts);
    if (text === readFileSync(path.join(root, file), 'utf8')) continue;
    if (check) stale.push(file);
    else writeFileSync(path.join(root, file), text);
  }
  for (const file of stale) console.error(`${file} is out of date; ${runNote}`);
  return stale.length ? 1 : 0;
}

process.exitCode = main();
